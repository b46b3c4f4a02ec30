import { defined } from '../../base/defined.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Bound } from '../../packages/simulation.ts';
import type { Transaction } from '../../packages/transaction.ts';
import type { Change, Disturbs, StepName } from '../change.ts';
import { runChange } from '../changes.ts';
import { titleOf, type Subject } from './title.ts';

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

/** `bound`: what was announced. `version`: what was chosen. */
export function boundChange(pending: Pending, bound?: Bound, version?: string): Change {
  const { step, name, why, disturbs, platform, transaction, timeoutS, writes = [] } = pending;
  const subject = { ...pending.subject, ...defined({ to: version }) };
  const comes = subject.from === undefined && subject.replaces !== true;
  return runChange(
    step,
    name,
    { title: titleOf(subject), why, disturbs, marker: comes ? 'add' : 'change', ...defined({ bound }) },
    { script: platform.packages.install(transaction, bound), timeoutS, writes },
  );
}
