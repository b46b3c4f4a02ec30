import pLimit from 'p-limit';

import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { Transport } from '../ssh/transport.ts';
import { createManagerClient, type ManagerClient } from './manager-client.ts';

/** The answer of one host's manager, or the reason for none. */
export type ManagerAnswer<T> =
  | { readonly host: string; readonly value: T }
  | { readonly host: string; readonly problem: Problem };

/** Queries the managers of several hosts in parallel. A failed host does not affect the others. In the hosts' order. */
export async function askManagers<T>(
  hosts: readonly HostSpec[],
  transport: Transport,
  options: { readonly parallel: number; readonly signal: AbortSignal; readonly log: Logger },
  ask: (manager: ManagerClient, host: HostSpec) => Promise<T>,
): Promise<readonly ManagerAnswer<T>[]> {
  const limit = pLimit(options.parallel);
  return Promise.all(
    hosts.map((host) =>
      limit(async (): Promise<ManagerAnswer<T>> => {
        try {
          return { host: host.name, value: await askOne(host, transport, options.signal, ask) };
        } catch (error) {
          if (options.signal.aborted && !(error instanceof FleetError)) throw error;
          return { host: host.name, problem: hostProblem(host.name, error, options.log) };
        }
      }),
    ),
  );
}

async function askOne<T>(
  host: HostSpec,
  transport: Transport,
  signal: AbortSignal,
  ask: (manager: ManagerClient, host: HostSpec) => Promise<T>,
): Promise<T> {
  const session = await transport.connect({ name: host.name, ssh: host.ssh }, { signal });
  const agent = session.socketAgent(HostPaths.socket);
  try {
    return await ask(createManagerClient(agent, host.name), host);
  } finally {
    agent.destroy();
    await session.close();
  }
}
