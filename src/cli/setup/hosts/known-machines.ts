import pLimit from 'p-limit';

import type { Facts } from '../../../fleet/facts/facts.ts';
import { machineNow } from '../../../fleet/facts/gather.ts';
import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import { sameMachines } from '../../../fleet/plan/same-machine.ts';
import { problemLines } from '../../render/problem.ts';
import type { Transport } from '../../../fleet/ssh/transport.ts';
import { tell, widthOf, type Wizard } from '../wizard-context.ts';
import type { Settled } from './check-hosts.ts';

type Machine = Pick<Facts, 'machineId' | 'bootId'>;

/** Hosts of the inventory that are asked at the same time. */
const atOnce = 50;
/** Who does not let in as fast is not waited for: nothing is asked of these hosts but who they are. */
const patienceMs = 10_000;

/**
 * Those that are no machine of the inventory under another name; the others are said and left out, copies of one disk told
 * of. Hosts of the inventory that do not answer cannot be compared, which is said.
 */
export async function othersThan(
  wizard: Wizard,
  settled: readonly Settled[],
  inventory: readonly HostSpec[],
): Promise<Settled[]> {
  const named = settled.filter(({ report }) => (report.machine?.machineId ?? '') !== '');
  if (named.length === 0 || inventory.length === 0) return [...settled];
  const known = await wizard.prompts.once('machines of the inventory', () => machinesOf(wizard, inventory));
  const silent = inventory.length - known.size;
  if (silent > 0)
    tell(wizard, `! ${silent} of the inventory's hosts did not answer: not compared with the new ones`);
  return settled.filter(({ host, report: { machine } }) => {
    if (machine === undefined) return true;
    const twins = [...known].filter(
      ([, { machineId }]) => machineId === machine.machineId && machineId !== '',
    );
    const same = twins.find(([, { bootId }]) => bootId === machine.bootId)?.[0];
    if (same !== undefined) {
      tell(wizard, `! ${host.name} is the same machine as ${same} of the inventory: it is not added`);
      return false;
    }
    const seen = [...twins.map(([name, facts]) => ({ host: { name }, facts })), { host, facts: machine }];
    const copy = sameMachines(seen).get(host.name);
    if (copy !== undefined) wizard.say(...problemLines({ host: host.name, ...copy }, widthOf(wizard)));
    return true;
  });
}

/** Of those that answer, by name. */
async function machinesOf(
  wizard: Wizard,
  inventory: readonly HostSpec[],
): Promise<ReadonlyMap<string, Machine>> {
  const limit = pLimit(atOnce);
  const transport = wizard.openTransport(undefined, inventory);
  try {
    const machines = await Promise.all(
      inventory.map((host) =>
        limit(async () => {
          const machine = await machineOf(wizard, transport, host);
          return machine === undefined ? [] : [[host.name, machine] as const];
        }),
      ),
    );
    return new Map(machines.flat());
  } finally {
    await transport.close();
  }
}

/** Undefined: it does not answer, or lets nobody in. */
async function machineOf(
  { context: { signal } }: Wizard,
  transport: Transport,
  host: HostSpec,
): Promise<Machine | undefined> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  try {
    const session = await transport.connect(host, { signal: patience });
    try {
      return await machineNow(session, patience);
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
