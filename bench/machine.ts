import { spawnSync } from 'node:child_process';
import { arch, availableParallelism, cpus, loadavg, totalmem } from 'node:os';

import { spread } from './statistics.ts';

/** Before the measurements, which are a load themselves. */
const [loadBefore = Number.NaN] = loadavg();

/** What a figure depends on: processors, memory, Node, how busy the machine was before, and how fast it starts a program. */
export function machine(): string {
  const model =
    cpus()[0]
      ?.model.replaceAll(/\((?:R|TM)\)|CPU|Processor/gu, '')
      .replaceAll(/\s+/gu, ' ') ?? arch();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${availableParallelism()} cores (${model.trim()}), ${memory} GiB, Node ${process.versions.node}, load ${loadBefore.toFixed(1)} before, /bin/true takes ${processMs().toFixed(1)} ms`;
}

/** Virtual machines with the same processors start programs in one or in ten milliseconds, and hosts run little else. */
function processMs(): number {
  const taken = Array.from({ length: 41 }, () => {
    const since = performance.now();
    spawnSync('/bin/true');
    return performance.now() - since;
  });
  return spread(taken).median;
}
