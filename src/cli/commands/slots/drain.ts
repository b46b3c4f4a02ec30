import type { Context } from '../../../shared/base/context.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import type { ManagerStatus } from '../../../shared/contract/status.ts';
import type { ManagerClient } from '../../../fleet/client/manager-client.ts';
import { occupied } from '../../../fleet/apply/drain.ts';
import { drainText } from '../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { ownerName } from '../../run/owner.ts';
import { agreesToAll } from '../../run/whole-fleet.ts';
import { answered, askEach } from '../../run/managers.ts';
import { pause } from '../../pause.ts';
import { declined, type Result } from '../../result.ts';

const pollMs = 2000;

/** Makes agents stop taking jobs. Running jobs go on. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  if (!(await agreesToAll(context, input, 'Drain every host of the inventory?'))) return declined;
  const slots = options.list('slot');
  const order = { reason: options.string('reason') ?? '', owner: ownerName(context) };
  const deadline = context.clock.monotonic() + (options.duration('drainTimeout') ?? 0);
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    await manager.drain(order, slots);
    return options.flag('wait') ? settled(manager, slots, deadline, context) : manager.status();
  });
  return answered(answers, (host, status) => drainText(host, status, slots));
}

/** Resolves when no job is left on the slots in question. */
async function settled(
  manager: ManagerClient,
  slots: readonly string[],
  deadline: number,
  context: Context,
): Promise<ManagerStatus> {
  for (;;) {
    const status = await manager.status();
    const left = occupied(status).filter(({ slot }) => slots.length === 0 || slots.includes(slot));
    if (left.length === 0) return status;
    if (context.clock.monotonic() >= deadline) {
      throw new FleetError({
        code: 'drain.timeout',
        step: 'manager',
        what: 'jobs still run; the slots stay drained and take no new ones',
        seen: left.map(({ slot, job }) => `slot ${slot}${job === undefined ? '' : `: ${job}`}`).join(', '),
        next: 'run it again to wait on, or take it back with "azp-fleet undrain"',
      });
    }
    await pause(pollMs, context.signal, 'the slots stay drained');
  }
}
