import { arch, availableParallelism, cpus, loadavg, totalmem } from 'node:os';

/** Before the measurements, which are a load themselves. */
const [loadBefore = Number.NaN] = loadavg();

/** What a figure depends on: processors, memory, Node, and how busy the machine was before. */
export function machine(): string {
  const model =
    cpus()[0]
      ?.model.replaceAll(/\((?:R|TM)\)|CPU|Processor/gu, '')
      .replaceAll(/\s+/gu, ' ') ?? arch();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${availableParallelism()} cores (${model.trim()}), ${memory} GiB, Node ${process.versions.node}, load ${loadBefore.toFixed(1)} before`;
}
