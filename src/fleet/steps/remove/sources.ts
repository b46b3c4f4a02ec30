import type { Facts, SwitchedOff } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import { restoreSources } from '../../packages/sources.ts';
import type { Vendor } from '../../packages/vendors.ts';
import type { Change, Detail } from '../change.ts';
import { runChange } from '../changes.ts';

/** Sources of others come back as they were, once none of ours is read beside them that is for the same repository. */
export function* othersSources(
  { ours: { sources } }: Facts,
  { packages }: Platform,
  staying: ReadonlySet<Vendor>,
): Generator<Change> {
  const back = sources.filter(
    ({ by, names, taken }) =>
      by !== undefined && !taken && [by, ...names].every((vendor) => !staying.has(vendor)),
  );
  if (back.length === 0) return;
  yield runChange(
    'driver',
    'give-back',
    {
      title: 'switch package sources of others on again, as they were',
      why: 'they were switched off while ours stood in their place',
      disturbs: 'nothing',
      details: back.map(({ file }) => ({ marker: 'add', text: file })),
    },
    { script: restoreSources(back), timeoutS: 60, writes: [packages.sourceFolder] },
  );
}

/** What stays switched off although our source for that vendor goes, and what its owner can do about it. */
export function stayingOff({ ours: { sources } }: Facts, vendor: Vendor): readonly Detail[] {
  return sources
    .filter(({ by, names }) => by === vendor || (by === undefined && names.includes(vendor)))
    .flatMap((source) => {
      const effect = whyOff(source);
      return effect === undefined
        ? []
        : [{ marker: 'change', text: `${source.aside} stays switched off`, effect }];
    });
}

function whyOff({ file, aside, by, taken }: SwitchedOff): string | undefined {
  if (taken) return `there is another ${file} by now: compare them, and delete one`;
  if (by !== undefined) return undefined;
  return `nobody noted who did that, as earlier releases did; to read it again: sudo mv '${aside}' '${file}'`;
}
