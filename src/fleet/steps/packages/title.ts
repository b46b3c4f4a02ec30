import { compareVersions } from '../../packages/version.ts';

/** What a transaction brings, in a plan's words. */
export interface Subject {
  /** `NVIDIA driver` */
  readonly what: string;
  /** The same thing's version on the host; undefined: it is not there, or something else does its work. */
  readonly from: string | undefined;
  /** A version, or a branch while it is not known which version of it is the newest; undefined: any. */
  readonly to: string | undefined;
  /** Something else does its work. */
  readonly replaces?: boolean;
  /** Stands behind the version: ` (open kernel modules)`. */
  readonly note?: string;
}

/** `upgrade NVIDIA driver 580.95.05 → 595.71.05 (open kernel modules)` */
export function titleOf({ what, from, to, replaces = false, note = '' }: Subject): string {
  const difference = order(from, to);
  if (difference > 0) return `downgrade ${what} ${from} → ${to}${note}`;
  if (difference < 0) return `upgrade ${what} ${from} → ${to}${note}`;
  const verb = from === undefined && !replaces ? 'install' : 'change to';
  return `${[verb, what, ...(to === undefined ? [] : [to])].join(' ')}${note}`;
}

export function isDowngrade({ from, to }: Subject): boolean {
  return order(from, to) > 0;
}

function order(from: string | undefined, to: string | undefined): number {
  return from === undefined || to === undefined ? 0 : compareVersions(from, to);
}
