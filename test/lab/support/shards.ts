import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Seconds by the name of a lab test file, on an idle machine of two cores. */
export type Durations = Readonly<Record<string, number>>;

export const durationsFile = join(import.meta.dirname, '../durations.json');

/** A file that was not measured yet. */
const assumedS = 120;

/** `npm run test:lab` runs the unit tests on other Node versions in the first shard, on all cores. */
export const otherNodes = 'unit tests on other Node versions';

/** Spreads lab test files over shards of about the same time, and begins with the longest file of a shard. */
export class LabSequencer extends BaseSequencer {
  override shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index = 1, count = 1 } = this.ctx.config.shard ?? {};
    const names = files.map(({ moduleId }) => basename(moduleId));
    const shard = shardsOf(names, count, recordedDurations(), this.ctx.config.maxWorkers)[index - 1] ?? [];
    return Promise.resolve(files.filter(({ moduleId }) => shard.includes(basename(moduleId))));
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (!files.every(({ project }) => project.name.startsWith('lab'))) return super.sort(files);
    const durations = recordedDurations();
    return files.toSorted((one, other) => secondsOf(other, durations) - secondsOf(one, durations));
  }
}

/** Returns the files of each shard: the longest first, each to the shard that ends first. Pure. */
export function shardsOf(
  names: readonly string[],
  count: number,
  durations: Durations,
  workers: number,
): readonly (readonly string[])[] {
  const seconds = (name: string): number => durations[name] ?? assumedS;
  const shards = Array.from({ length: count }, () => ({ total: 0, names: [] as string[] }));
  const [first] = shards;
  if (first !== undefined) first.total = (durations[otherNodes] ?? 0) * workers;
  for (const name of names.toSorted(
    (one, other) => seconds(other) - seconds(one) || (one < other ? -1 : 1),
  )) {
    const shard = shards.reduce((least, each) => (each.total < least.total ? each : least));
    shard.total += seconds(name);
    shard.names.push(name);
  }
  return shards.map((shard) => shard.names);
}

function secondsOf({ moduleId }: TestSpecification, durations: Durations): number {
  return durations[basename(moduleId)] ?? assumedS;
}

export function recordedDurations(): Durations {
  return JSON.parse(readFileSync(durationsFile, 'utf8')) as Durations;
}
