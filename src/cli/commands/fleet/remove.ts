import { deregister, ownerId } from '../../../shared/azure/pools/agents.ts';
import type { Context } from '../../../shared/base/context.ts';
import { usageError } from '../../../shared/base/errors.ts';
import type { Facts } from '../../../fleet/facts/facts.ts';
import type { PartName } from '../../../fleet/packages/package-record.ts';
import { removalOf } from '../../../fleet/steps/remove/remove.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet } from '../../run/fleet.ts';
import { carryOut } from '../../run/own-plan.ts';
import type { Result } from '../../result.ts';
import { removeGone } from './remove-gone.ts';

const parts: readonly PartName[] = ['toolkit', 'docker', 'driver'];

/** Takes hosts out of the fleet: what was put there goes, and their agents with it. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options, positionals } = input;
  const gone = options.list('gone');
  if (gone.length > 0) return removeGone(context, input, gone);
  if (positionals.length === 0 && options.list('limit').length === 0) throw unnamed();
  const asked = new Set(parts.filter((part) => options.flag(part)));
  const opened = await openFleet(context, input);
  return carryOut(
    context,
    input,
    {
      question: (where) => `Remove all this from ${where}?`,
      unasked: 'look at the plan with --dry-run, then run again with --yes',
      changes: (now, before, host) =>
        removalOf(now, { host, owner: ownerOf(before), parts: asked, root: context.root }),
      removes: true,
      again: () => 'run the same command again: what is gone is left out',
    },
    { opened, deregister: async (agents) => void (await deregister(opened.azure, agents)) },
  );
}

/** What its manager has marked its agents with. */
function ownerOf({ machineId, manager: { installation } }: Facts): string | undefined {
  return installation === undefined ? undefined : ownerId(machineId, installation);
}

function unnamed(): Error {
  return usageError({
    code: 'usage.arguments',
    what: 'remove needs the names of hosts',
    expected: 'azp-fleet remove HOST…',
    next: 'name them, or all of them with "*"',
  });
}
