import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../base/errors.ts';
import type { Dataset } from '../contract/config.ts';

/** A network file system that does not answer within this time counts as missing. */
const patienceMs = 10_000;

/** Throws what is wrong with the first dataset that a job must not meet as it is. */
export async function checkDatasets(datasets: readonly Dataset[]): Promise<void> {
  for (const dataset of datasets) await checkDataset(dataset);
}

async function checkDataset(dataset: Dataset): Promise<void> {
  const { name, host } = dataset;
  if (dataset.requireMount && !mountPoints(await readFile('/proc/self/mountinfo', 'utf8')).has(host)) {
    throw problem(name, `${host} is not mounted`, `Mount it: mount ${host}`);
  }
  const entries = await Promise.race([
    readdir(host).catch(() => undefined),
    sleep(patienceMs, 'late' as const, { ref: false }),
  ]);
  if (entries === 'late') {
    throw problem(name, `${host} does not answer`, 'Check the file server and the mount.');
  }
  if (entries === undefined) {
    throw problem(
      name,
      `${host} is no folder that can be read`,
      'Correct the path in the inventory, or create it.',
    );
  }
  if (entries.length === 0) throw problem(name, `${host} is empty`, 'Mount or fill it.');
}

function problem(name: string, what: string, next: string): FleetError {
  return new FleetError({ code: 'dataset.unusable', what: `dataset ${name}: ${what}`, next });
}

/** The fifth field of each line, with the kernel's octal escapes undone. */
export function mountPoints(mountinfo: string): ReadonlySet<string> {
  return new Set(
    mountinfo
      .split('\n')
      .map((line) =>
        (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
          String.fromCharCode(Number.parseInt(octal, 8)),
        ),
      ),
  );
}
