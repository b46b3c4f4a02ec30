import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import { type PartName, recordFile } from '../../packages/package-record.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { type Change, runChange } from '../change.ts';
import { describeFile, written } from '../description.ts';
import { recordingScript, partRecord, type PartRecord } from './recorded.ts';
import type { Desired } from '../step.ts';
import { sha256 } from '../../../shared/base/digest.ts';

interface Host {
  readonly platform: Platform;
  readonly facts: Facts;
  readonly desired: Desired;
}

/** Adds a vendor's package repository and key, or updates them. `whose`: the vendor in the title. */
export function* addSource(step: PartName, whose: string, vendor: Vendor, host: Host): Generator<Change> {
  if (sourceIsThere(vendor, host)) return;
  const { platform, facts, desired } = host;
  const { file, text, keyFile, script } = platform.packages.source(vendor, platform, desired);
  yield runChange(
    step,
    'source',
    {
      title: `${facts.files[file] === undefined ? 'add' : 'change'} ${whose} package repository`,
      why: sourceProblem(facts, { file, text, keyFile }),
      disturbs: 'nothing',
      ...describeFile(written(facts, file, text)),
    },
    {
      script: `${recordingScript(partRecord(step, facts, platform), platform)}\n${script}`,
      timeoutS: 600,
      writes: [...platform.packages.folders, recordFile],
    },
  );
}

function sourceProblem(
  { files }: Facts,
  { file, text, keyFile }: { readonly file: string; readonly text: string; readonly keyFile: string },
): string {
  if (files[file] === undefined) return 'not configured';
  return files[file] === sha256(text) ? `${keyFile} is missing` : `${file} differs`;
}

/** Returns whether the vendor's repository is configured; packages of a bundle need none. */
export function sourceIsThere(vendor: Vendor, { platform, facts, desired }: Host): boolean {
  if (desired.included !== undefined) return true;
  const { file, text, keyFile } = platform.packages.source(vendor, platform, desired);
  return facts.files[file] === sha256(text) && facts.files[keyFile] !== undefined;
}

/** A change that holds installed packages at their version. */
export interface HoldChange extends Change {
  readonly holding: Holding;
}

interface Holding {
  readonly step: PartName;
  /** Finishes "hold the …". */
  readonly what: string;
  readonly why: string;
  readonly platform: Platform;
  readonly names: readonly string[];
  readonly siblings: readonly string[];
  readonly recorded: PartRecord;
}

export function holdChange(holding: Holding): HoldChange {
  const { step, what, why, platform, names, siblings, recorded } = holding;
  const described = { title: `hold the ${what}`, why, disturbs: 'nothing' } as const;
  const note = recordingScript(recorded, platform, { holds: [...names, ...siblings] });
  const run = {
    script: `${note}\n${platform.packages.hold(names, siblings)}`,
    timeoutS: 120,
    writes: [recordFile],
  };
  return { ...runChange(step, 'hold', described, run), holding };
}

/** Holds installed packages at their version, unless they are held already. `what` finishes "hold the …". */
export function* holdPackages(
  step: PartName,
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
  const recorded = partRecord(step, facts, platform);
  yield holdChange({ step, what, why: `${names.join(', ')} ${risk}`, platform, names, siblings, recorded });
}
