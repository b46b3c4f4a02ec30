import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Lines } from '../../shared/engine/frames.ts';
import type { RunFolder } from './run-folder.ts';
import { livenessOf, mayRun, type Systemd } from './systemd.ts';

const pollMs = 300;

/** What the agent of a unit writes, line by line, from the start to its end. `pid`: of its main process, if known. */
export async function* followOutput(
  of: {
    readonly folder: Pick<RunFolder, 'outputFrom'>;
    readonly unit: string;
    readonly pid: number | undefined;
    readonly systemd: Pick<Systemd, 'state'>;
  },
  signal: AbortSignal,
): AsyncIterable<string> {
  const { folder, unit, systemd } = of;
  const lines = new Lines();
  for (let at = 0, ended = false, { pid } = of; !signal.aborted;) {
    const chunk = await folder.outputFrom(at);
    at += chunk.length;
    yield* lines.push(chunk);
    if (ended) break;
    if (!(await isOf(unit, pid))) {
      const state = await systemd.state(unit);
      ended = !mayRun(livenessOf(state));
      pid = Number(state?.['MainPID'] ?? 0);
    }
    if (!ended) await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  yield* lines.end();
}

/** By the kernel, which costs no process: whether this one is of the unit. */
async function isOf(unit: string, pid: number | undefined): Promise<boolean> {
  if (pid === undefined || pid === 0) return false;
  const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  return cgroup.split('\n').some((line) => line.endsWith(`/${unit}`));
}
