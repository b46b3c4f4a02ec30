import { Labels } from '../contract/paths.ts';
import type { OwnContainer } from './engine.ts';

/** What runs no job and lives for a minute or two: a look at the GPUs, a registration. */
export type HelperKind = 'probe' | 'config';

/** Creating, starting and removing take their time as well. */
const spareS = 60;
/** Of one that does not say how long it may live. */
const longestS = 540;

export function helperLabels(kind: HelperKind, host: string, deadlineMs: number): Record<string, string> {
  return {
    [Labels.kind]: kind,
    [Labels.host]: host,
    [Labels.lifetime]: String(Math.ceil(deadlineMs / 1000)),
  };
}

export function isHelper({ labels }: OwnContainer): boolean {
  return labels[Labels.kind] === 'probe' || labels[Labels.kind] === 'config';
}

/** Whether whoever made this helper must have died. `now`: milliseconds since the epoch on the engine's machine. */
export function isOverdue({ labels, created }: OwnContainer, now: number): boolean {
  const lifetimeS = Number.parseInt(labels[Labels.lifetime] ?? '', 10);
  const allowedS = (Number.isFinite(lifetimeS) ? lifetimeS : longestS) + spareS;
  return now - created * 1000 > allowedS * 1000;
}
