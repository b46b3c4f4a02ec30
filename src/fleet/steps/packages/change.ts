import type { Platform } from '../../packages/distribution.ts';
import { recordFile } from '../../packages/package-record.ts';
import type { Bound } from '../../packages/simulation.ts';
import type { Transaction } from '../../packages/transaction.ts';
import { compareVersions } from '../../packages/version.ts';
import { type Change, type Disturbs, runChange, type StepName } from '../change.ts';
import { recordingScript, type PartRecord } from './recorded.ts';
import { defined } from '../../../shared/base/objects.ts';

/** A change that is one transaction of the host's package manager, before its simulation. */
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
  /** Its packages rebuild the initramfs. */
  readonly rebuildsInitramfs?: true;
  /** The package record of the part that it changes; absent: ownership is not recorded. */
  readonly recorded?: PartRecord;
  /** Files that its script writes, without those of packages. */
  readonly writes?: readonly string[];
  /** Patterns of packages that it must not remove; default: those of the desktop. */
  readonly keeps?: readonly string[];
  /** The version that the inventory sets; repositories may not offer it. */
  readonly request?: VersionRequest;
}

/** A version that the inventory sets. */
interface VersionRequest {
  /** `driver 581` */
  readonly what: string;
  /** The inventory's key. */
  readonly key: 'driver.branch' | 'driver.version' | 'docker.version' | 'toolkit.version';
  /** Alternative to setting an offered version: `set …`. Default: complete the mirror. */
  readonly otherwise?: string;
}

export function packageChange(pending: Pending): PackageChange {
  return { ...boundChange(pending), pending };
}

/** Returns the change within a bound. `version`: the chosen one. `installs`: the new packages; undefined: unknown. */
export function boundChange(
  pending: Pending,
  bound?: Bound,
  {
    version,
    installs,
  }: { readonly version?: string | undefined; readonly installs?: readonly string[] } = {},
): Change {
  const { step, name, why, disturbs, platform, transaction, timeoutS, recorded, writes = [] } = pending;
  const subject = { ...pending.subject, ...defined({ to: version }) };
  const isNew = subject.from === undefined && subject.replaces !== true;
  return runChange(
    step,
    name,
    { title: titleOf(subject), why, disturbs, marker: isNew ? 'add' : 'change', ...defined({ bound }) },
    {
      script: [
        ...(recorded === undefined
          ? []
          : [recordingScript(recorded, platform, recordedNames(transaction, installs))]),
        platform.packages.install(transaction, bound),
      ].join('\n'),
      timeoutS,
      writes: [...writes, ...(recorded === undefined ? [] : [recordFile])],
    },
  );
}

/** Returns the names that the transaction brings and holds, and patterns of their dependents. */
function recordedNames(
  { packages, optional = [], beside = [], siblings = [] }: Transaction,
  names: readonly string[] | undefined,
): Parameters<typeof recordingScript>[2] {
  const own = packages.map(({ name }) => name);
  const alike = [...own, ...siblings];
  return { brings: names ?? [...alike, ...optional, ...beside.map(({ name }) => name)], holds: alike };
}

/** What a transaction installs, as a plan shows it. */
interface Subject {
  /** `NVIDIA driver` */
  readonly what: string;
  /** Its version on the host; undefined: not installed, or another package replaces it. */
  readonly from: string | undefined;
  /** A version, or a branch while its newest version is unknown; undefined: any. */
  readonly to: string | undefined;
  /** It replaces another package with the same purpose. */
  readonly replaces?: boolean;
  /** Text after the version: ` (open kernel modules)`. */
  readonly note?: string;
}

/** Returns a title: `upgrade NVIDIA driver 580.95.05 → 595.71.05 (open kernel modules)`. */
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
