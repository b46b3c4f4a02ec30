import { sha256 } from '../../base/digest.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Vendor } from '../../packages/vendors.ts';
import type { Change, StepName } from '../change.ts';
import { runChange } from '../changes.ts';
import type { Desired } from '../step.ts';
import { toldText, written } from '../told/texts.ts';

interface Host {
  readonly platform: Platform;
  readonly facts: Facts;
  readonly desired: Desired;
}

/** The source of a vendor's packages with its key, where either is not as wanted. `whose` is a genitive. */
export function* addSource(step: StepName, whose: string, vendor: Vendor, host: Host): Generator<Change> {
  if (sourceIsThere(vendor, host)) return;
  const { platform, facts, desired } = host;
  const { file, text, keyFile, script } = platform.packages.source(vendor, platform, desired);
  yield runChange(
    step,
    'source',
    {
      title: `${facts.files[file] === undefined ? 'add' : 'change'} ${whose} package source`,
      why: facts.files[file] === sha256(text) ? `${keyFile} is missing` : `${file} is not as wanted`,
      disturbs: 'nothing',
      ...toldText(written(facts, file, text)),
    },
    { script, timeoutS: 600, writes: platform.packages.folders },
  );
}

/** Where the packages are brought, no source is needed. */
export function sourceIsThere(vendor: Vendor, { platform, facts, desired }: Host): boolean {
  if (desired.supplies !== undefined) return true;
  const { file, text, keyFile } = platform.packages.source(vendor, platform, desired);
  return facts.files[file] === sha256(text) && facts.files[keyFile] !== undefined;
}

/** A change that keeps packages that are there at their version. */
export interface HoldChange extends Change {
  readonly holding: Holding;
}

interface Holding {
  readonly step: StepName;
  /** Finishes "hold the …". */
  readonly what: string;
  readonly why: string;
  readonly platform: Platform;
  readonly names: readonly string[];
  readonly siblings: readonly string[];
}

export function holdChange(holding: Holding): HoldChange {
  const { step, what, why, platform, names, siblings } = holding;
  const described = { title: `hold the ${what}`, why, disturbs: 'nothing' } as const;
  const run = { script: platform.packages.hold(names, siblings), timeoutS: 120 };
  return { ...runChange(step, 'hold', described, run), holding };
}

/** Keeps packages that are there at their version, where they are not held already. `what` finishes "hold the …". */
export function* holdPackages(
  step: StepName,
  what: string,
  { platform, facts }: Omit<Host, 'desired'>,
  packages: readonly string[],
  {
    risk = 'may be upgraded at any time',
    siblings = [],
  }: { risk?: string; siblings?: readonly string[] } = {},
): Generator<Change> {
  const names = packages.filter((name) => facts.packages[name] !== undefined && !facts.held.includes(name));
  if (names.length === 0) return;
  yield holdChange({ step, what, why: `${names.join(', ')} ${risk}`, platform, names, siblings });
}
