import { sha256 } from '../../shared/base/digest.ts';
import { defined } from '../../shared/base/objects.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { SlotStatus } from '../../shared/contract/status.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
import type { SeenContainer } from '../model.ts';
import { agentIdOf } from '../pool/agents.ts';

/** What a run of a slot is made from. */
export interface Making {
  /** Id; undefined: none is ready, so that none can be missing. */
  readonly image: string | undefined;
  /** See settingsOf. */
  readonly settings: string;
}

/** The run that a container is, and what one would be made from now, where that is known. Pure. */
export function runView(
  made: { readonly container: OwnContainer; readonly seen: SeenContainer } | undefined,
  wanted: Making | undefined,
): Pick<SlotStatus, 'run' | 'settings'> {
  const settings = wanted && digest({ ...wanted, image: wanted.image ?? made?.seen.image });
  if (made === undefined) return defined({ settings });
  const { labels, created } = made.container;
  const run = {
    id: labels[Labels.run] ?? '',
    startedAt: new Date(created * 1000).toISOString(),
    settings: digest(made.seen),
    ...defined({ agentId: agentIdOf(made.container) }),
  };
  return { run, ...defined({ settings }) };
}

function digest({ image = '', settings }: Making): string {
  return sha256(`${image}\n${settings}`).slice(0, 12);
}

/**
 * Since when nobody has been there to take a job, ISO 8601: no agent that is made from what is wanted now has listened or
 * run one. Undefined while one does, and while the slot is kept from it. It does not begin anew with each try. Pure.
 */
export function awaySince(
  { state, run, settings }: Pick<SlotStatus, 'state' | 'run' | 'settings'>,
  before: string | undefined,
  now: string,
): string | undefined {
  const isThere = state === 'busy' || (state === 'idle' && run?.settings === settings);
  const isKept = state === 'drained' || state === 'quarantined';
  return isThere || isKept ? undefined : (before ?? now);
}
