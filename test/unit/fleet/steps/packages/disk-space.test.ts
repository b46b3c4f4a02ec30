import { describe, expect, it } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { Answer } from '../../../../../src/fleet/packages/simulation.ts';
import { isPackageChange, refinePackages } from '../../../../../src/fleet/steps/packages/refine.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';
import { lines, plan } from '../host-stack-plan.ts';

const defaults = desiredOf();
const found = plan(factsOf(), defaults);
const [driver, docker, toolkit] = found.filter(isPackageChange).map(({ id }) => id);
const none = { removes: [], installs: [], upgrades: [], downgrades: [], kept: [] } as const;
const takes = (downloadBytes: number, installedBytes: number): Answer => ({
  kind: 'value',
  value: {
    ...none,
    room: { downloadBytes, installedBytes },
  },
});

/** Returns the refusals on a host with these disks and answers about disk space. */
function refusals(disk: Facts['disk'], ...answers: readonly Answer[]): string[] {
  const answered = [driver, docker, toolkit].flatMap((id, at) => {
    const answer = answers[at];
    return id === undefined || answer === undefined ? [] : [[id, answer] as const];
  });
  const said = { answers: Object.fromEntries(answered), final: true };
  const refined = refinePackages(found, said, { disk, initramfsBytes: 100e6, arrived: {} });
  return lines(refined).flatMap((line) =>
    line.startsWith('refused: ') ? [line.slice('refused: '.length)] : [],
  );
}
const root = (freeBytes: number) => ({ '/': { freeBytes, mount: '/' } });

describe('disk space', () => {
  it.each<[string, Facts['disk'], readonly Answer[], readonly string[]]>([
    ['is enough', root(2.2e9), [takes(0.4e9, 1.7e9)], []],
    [
      'is one byte short, including the new initramfs',
      root(2.2e9 - 1),
      [takes(0.4e9, 1.7e9)],
      ['NVIDIA driver needs 2.2 GB on / including the changes before it; 2.1 GB are free'],
    ],
    [
      'is used by several changes',
      root(2.5e9),
      [takes(0.4e9, 1.7e9), takes(0.1e9, 0.3e9)],
      ['Docker Engine needs 2.6 GB on / including the changes before it; 2.5 GB are free'],
    ],
    [
      'is short for downloads',
      { ...root(50e9), '/var': { freeBytes: 300e6, mount: '/var' } },
      [takes(0.4e9, 1.7e9)],
      ['NVIDIA driver needs 400 MB on /var including the changes before it; 300 MB are free'],
    ],
    [
      'is short for kernels',
      { ...root(50e9), '/boot': { freeBytes: 80e6, mount: '/boot' } },
      [takes(0.4e9, 1.7e9)],
      ['NVIDIA driver needs 100 MB on /boot including the changes before it; 80 MB are free'],
    ],
    [
      'is counted per file system, not per folder',
      {
        ...root(50e9),
        '/var': { freeBytes: 1e9, mount: '/data' },
        '/usr': { freeBytes: 1e9, mount: '/data' },
      },
      [takes(0.4e9, 0.7e9)],
      ['NVIDIA driver needs 1.1 GB on /data including the changes before it; 1.0 GB are free'],
    ],
    ['is freed by removals', root(0.6e9), [takes(0.4e9, -1.7e9)], []],
    ['is not checked if disks are unknown', {}, [takes(1e15, 1e15)], []],
    [
      'is not checked if the package manager reported none',
      root(1),
      [{ kind: 'value', value: { ...none } }],
      [],
    ],
  ])('%s', (_, disk, answers, expected) => {
    expect(refusals(disk, ...answers)).toEqual(expected);
  });
});
