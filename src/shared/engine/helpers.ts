import { Labels } from '../contract/paths.ts';
import type { OwnContainer } from './engine.ts';

/** Short-lived containers without a job: a GPU probe, a registration. */
export type HelperKind = 'probe' | 'config';

/** Time to create, start and remove a container. */
const spareS = 60;
/** Lifetime of a container without a label for it. */
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

/** True when the creator of this helper must have exited. `now`: milliseconds since the epoch on the engine's machine. */
export function isOverdue({ labels, created }: OwnContainer, now: number): boolean {
  const lifetimeS = Number.parseInt(labels[Labels.lifetime] ?? '', 10);
  const allowedS = (Number.isFinite(lifetimeS) ? lifetimeS : longestS) + spareS;
  return now - created * 1000 > allowedS * 1000;
}
