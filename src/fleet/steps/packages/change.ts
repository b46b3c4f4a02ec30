import type { Platform } from '../../packages/distribution.ts';
import { recordFile } from '../../packages/package-record.ts';
import type { Bound } from '../../packages/simulation.ts';
import type { Transaction } from '../../packages/transaction.ts';
import { compareVersions } from '../../packages/version.ts';
import { type Change, type Disturbs, runChange, type StepName } from '../change.ts';
import { noting, type PartRecord } from './recorded.ts';
import { defined } from '../../../shared/base/objects.ts';

/** A change that is one transaction of the host's package manager, before that was asked what it would do. */
export interface PackageChange extends Change {
  readonly pending: Pending;
}

export interface Pending {
  readonly step: StepName;
  /** Of the change, for its id. */
  readonly name: string;
  readonly subject: Subject;
  readonly why: string;
  readonly disturbs: Disturbs;
  readonly platform: Platform;
  readonly transaction: Transaction;
  readonly timeoutS: number;
  /** It lets kernels' initramfs be written anew. */
  readonly rebuildsInitramfs?: true;
  /** What is known of the part of the host that it changes; absent: nobody will be asked whose that is. */
  readonly recorded?: PartRecord;
  /** What its script writes beside what packages bring. */
  readonly writes?: readonly string[];
  /** Patterns of packages that must not go for it; default: what shows something on a screen. */
  readonly keeps?: readonly string[];
  /** Where the inventory asks for a version: it may be one that no source offers. */
  readonly wish?: Wish;
}

/** What the inventory asks for. */
interface Wish {
  /** `driver 581` */
  readonly what: string;
  /** The inventory's key. */
  readonly key: 'driver.branch' | 'driver.version' | 'docker.version' | 'toolkit.version';
  /** What else to do than to wish for what is offered: `set …`. Default: complete the mirror. */
  readonly otherwise?: string;
}

export function packageChange(pending: Pending): PackageChange {
  return { ...boundChange(pending), pending };
}

/** `bound`: what was announced. `version`: what was chosen. `comes`: what will be new; undefined: nobody can say. */
export function boundChange(
  pending: Pending,
  bound?: Bound,
  {
    version,
    comes: names,
  }: { readonly version?: string | undefined; readonly comes?: readonly string[] } = {},
): Change {
  const { step, name, why, disturbs, platform, transaction, timeoutS, recorded, writes = [] } = pending;
  const subject = { ...pending.subject, ...defined({ to: version }) };
  const comes = subject.from === undefined && subject.replaces !== true;
  return runChange(
    step,
    name,
    { title: titleOf(subject), why, disturbs, marker: comes ? 'add' : 'change', ...defined({ bound }) },
    {
      script: [
        ...(recorded === undefined ? [] : [noting(recorded, platform, coming(transaction, names))]),
        platform.packages.install(transaction, bound),
      ].join('\n'),
      timeoutS,
      writes: [...writes, ...(recorded === undefined ? [] : [recordFile])],
    },
  );
}

/** What comes, and what it holds: names, and patterns of what leans on them. */
function coming(
  { packages, optional = [], beside = [], siblings = [] }: Transaction,
  names: readonly string[] | undefined,
): Parameters<typeof noting>[2] {
  const own = packages.map(({ name }) => name);
  const alike = [...own, ...siblings];
  return { brings: names ?? [...alike, ...optional, ...beside.map(({ name }) => name)], holds: alike };
}

/** What a transaction brings, in a plan's words. */
interface Subject {
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
