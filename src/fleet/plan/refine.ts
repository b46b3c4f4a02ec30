import { stableJson } from '../../shared/base/digest.ts';
import { glob } from '../inventory/glob.ts';
import type { HostPlan } from './fleet-plan.ts';
import { cleanHost } from './read-plan.ts';
import { type Change, onlyWaits, type Shape } from '../steps/change.ts';
import { atMost } from '../steps/disturbance.ts';

/** Why a later plan differs from the announced one, for the user. */
export interface Deviation {
  readonly title: string;
  readonly what: string;
}

/**
 * Compares a plan made after a stage (or under the lock) with the announced one. A known change must be announced itself, or as a
 * shape of its step, and disturb no more than announced. Fewer changes are fine.
 */
export function deviations(now: HostPlan, announced: HostPlan): Deviation[] {
  const before = announced.stages.flat();
  return now.stages.flat().flatMap((change) => {
    const what = deviation(change, before);
    return what === undefined ? [] : [{ title: change.title, what }];
  });
}

function deviation(change: Change | Shape, announced: readonly (Change | Shape)[]): string | undefined {
  const named = announced.filter((before) => names(before, change));
  if (named.length === 0) return 'was not announced';
  const bounded = named.filter((before) => atMost(change.disturbs, before.disturbs));
  if (bounded.length === 0) return `disturbs ${change.disturbs}, more than was announced`;
  const beyond = bounded.map((before) => beyondBound(change, before));
  return beyond.every((what) => what !== undefined) ? beyond[0] : undefined;
}

/**
 * Compares a saved plan with the plan of the same facts, inventory and version: a known change whose title, files or actions differ
 * is not the one that was saved: the file was edited, or a token or a program was replaced. Pure.
 */
export function differentChanges(now: HostPlan, saved: HostPlan): Deviation[] {
  const changes = (plan: HostPlan) =>
    cleanHost(plan).stages.flatMap((stage) => stage.filter((each) => each.kind === 'change'));
  const before = changes(saved);
  return changes(now).flatMap((change) => {
    const { id, title } = change;
    const named = before.find((each) => each.id === id);
    if (named === undefined || stableJson(shownOf(named)) === stableJson(shownOf(change))) return [];
    const differs = named.title === title ? 'other files or actions' : `the title "${named.title}"`;
    return [{ title, what: `has ${differs} in the saved plan` }];
  });
}

/** Returns what the plan shows of a change. A file counts by its digest: its path is on the admin's machine. */
function shownOf({ title, texts, actions }: Change): unknown {
  const steps = actions.map((action) =>
    action.kind === 'upload' && action.artifact.kind === 'file'
      ? { ...action, artifact: action.artifact.sha256 }
      : action,
  );
  return { title, texts, steps };
}

/** Returns what a package change does to installed packages beyond the announced bound. */
function beyondBound({ bound: now }: Change | Shape, { bound: before }: Change | Shape): string | undefined {
  if (now === undefined || before === undefined) return undefined;
  const beyond = (kind: keyof typeof now): string[] => {
    const announced = before[kind].map(glob);
    // A name of another architecture carries it: `libcuda1:i386`.
    return now[kind].filter((name) => !announced.some((covers) => covers(name.replace(/:.*/, ''))));
  };
  const [removed, older] = [beyond('removes'), beyond('downgrades')];
  if (removed.length > 0) return `would remove ${removed.join(', ')} as well`;
  return older.length > 0 ? `would downgrade ${older.join(', ')} as well` : undefined;
}

/** Tells whether the announced change is this one, a shape of it, or waits for the same: the status may be older. */
function names(before: Change | Shape, change: Change | Shape): boolean {
  if (before.kind === 'change')
    return change.kind === 'change' && (before.id === change.id || (waits(before) && onlyWaits(change)));
  return before.step === change.step && (before.waits !== true || onlyWaits(change));
}

/**
 * Returns the plan without waits for the manager that were not announced, for example because it restarted since. Waiting changes
 * nothing, and the proof checks the manager anyway. Waits of an announced change stay.
 */
export function withoutNewWaits(now: HostPlan, announced: HostPlan): HostPlan {
  const before = announced.stages.flat();
  const stays = (change: Change | Shape): boolean =>
    !onlyWaits(change) || before.some((each) => names(each, change));
  const stages = now.stages.map((stage) => stage.filter(stays)).filter((stage) => stage.length > 0);
  return { ...now, stages };
}

function waits({ actions }: Change): boolean {
  return actions.some(({ kind }) => kind === 'await-manager');
}

/** Returns the number of announced waits that were not needed. Below 0: more waits than announced. */
export function waitsMet(announced: HostPlan, made: readonly Change[]): number {
  return announced.stages.flat().filter(onlyWaits).length - made.filter(onlyWaits).length;
}

/** Tells whether changes would disturb running jobs, so that agents are drained first. */
export function needsDrain(changes: readonly (Change | Shape)[]): boolean {
  return changes.some(disturbsAgents);
}

export function disturbsAgents({ disturbs }: Change | Shape): boolean {
  return !atMost(disturbs, 'new-containers');
}
