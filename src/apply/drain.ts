import { FleetError } from '../base/errors.ts';
import type { ManagerStatus, SlotStatus } from '../contract/status.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { ManagerClient } from '../client/manager-client.ts';
import type { ApplyTools } from './apply-tools.ts';

const pollMs = 2000;

/** Slots that may hold a job, or could still be given one. */
export function occupied(status: ManagerStatus): readonly SlotStatus[] {
  return status.slots.filter(({ state }) => ['starting', 'idle', 'busy', 'stopping'].includes(state));
}

/**
 * Makes the host's agents stop taking jobs and waits until the running ones have ended. Returns what restores the
 * drain state found: a host that an admin had drained stays drained.
 */
export async function drain(
  manager: () => Promise<ManagerClient>,
  reason: string,
  host: HostSpec,
  tools: Pick<ApplyTools, 'emit' | 'now' | 'sleep' | 'options' | 'jobPages'>,
): Promise<() => Promise<void>> {
  const before = await (await manager()).status();
  if (!before.drained) await (await manager()).drain(reason);
  const restore = async () => {
    if (!before.drained) await (await manager()).undrainHost();
  };
  const deadline = tools.now() + tools.options.drainTimeoutMs;
  try {
    for (let said = ''; ;) {
      const left = occupied(await (await manager()).status());
      if (left.length === 0) return restore;
      const text = `draining: waiting for ${left.map(describe).join(', ')}`;
      if (text !== said) tools.emit({ kind: 'note', host: host.name, text });
      said = text;
      if (tools.now() >= deadline) {
        const pages = await tools.jobPages(host.pool);
        throw timedOut(host.name, left, pages, tools.options.drainTimeoutMs);
      }
      await tools.sleep(pollMs);
    }
  } catch (error) {
    await restore().catch(() => undefined);
    throw error;
  }
}

function describe({ slot, job, state }: SlotStatus): string {
  return job === undefined ? `slot ${slot} (${state})` : `slot ${slot} (${job})`;
}

function timedOut(
  host: string,
  left: readonly SlotStatus[],
  pages: ReadonlyMap<string, string>,
  timeoutMs: number,
): FleetError {
  return new FleetError({
    code: 'plan.drain-timeout',
    host,
    step: 'manager',
    what: `jobs still run after ${Math.round(timeoutMs / 60_000)} minutes of draining; nothing was changed, agents take jobs again`,
    seen: left.map((slot) => [describe(slot), pages.get(slot.agent) ?? []].flat().join(' ')).join('\n'),
    next: 'run again when they have ended, or give them longer with --drain-timeout',
  });
}
