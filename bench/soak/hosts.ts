import type { ManagerStatus, SlotStatus } from '../../src/shared/contract/status.ts';
import { HostPaths } from '../../src/shared/contract/paths.ts';
import type { LabHost } from '../../practice/lab/host.ts';
import { until } from '../../practice/lab/run.ts';

/** Reads the manager's status file; undefined while the machine is down or the file is missing. */
export async function statusOf(host: LabHost): Promise<ManagerStatus | undefined> {
  const { code, stdout } = await host.exec(`cat ${HostPaths.status}`, { allowFailure: true });
  if (code !== 0 || stdout === '') return undefined;
  return JSON.parse(stdout) as ManagerStatus;
}

function isBack({ state }: SlotStatus): boolean {
  return state === 'idle' || state === 'busy';
}

/**
 * Resolves when every slot of these hosts has been seen idle or busy in a status written after `since`: not all at one
 * moment, because slots that work change their containers all the time.
 */
export async function slotsBack(hosts: readonly LabHost[], since: number, timeoutMs: number): Promise<void> {
  await Promise.all(hosts.map((host) => hostBack(host, since, timeoutMs)));
}

async function hostBack(host: LabHost, since: number, timeoutMs: number): Promise<void> {
  const back = new Set<string>();
  let last: ManagerStatus | undefined;
  const missing = (): string =>
    (last?.slots ?? [])
      .filter(({ slot }) => !back.has(slot))
      .map(({ slot, state, cause }) => `${slot} ${state} ${cause ?? ''}`)
      .join(', ');
  const wait = until(
    `all slots of ${host.name}`,
    async () => {
      const status = await statusOf(host);
      last = status;
      if (status === undefined || Date.parse(status.at) <= since) return false;
      for (const slot of status.slots) if (isBack(slot)) back.add(slot.slot);
      return status.slots.length > 0 && status.slots.every(({ slot }) => back.has(slot));
    },
    { timeoutMs, everyMs: 700 },
  );
  await wait.catch((error: unknown) => {
    throw new Error(`${String(error)} (${last === undefined ? 'no status' : missing()})`, { cause: error });
  });
}
