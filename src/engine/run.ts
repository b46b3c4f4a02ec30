import type Docker from 'dockerode';
import type { Engine } from './engine.ts';

/** Creates, starts, awaits and removes one container; past the deadline it is killed and what it wrote is returned. */
export async function runToEnd(
  single: Pick<Engine, 'create' | 'start' | 'awaitEnd' | 'logs' | 'remove'>,
  name: string,
  options: Docker.ContainerCreateOptions,
  deadlineMs: number,
): Promise<{ readonly code: number; readonly output: string; readonly timedOut: boolean }> {
  const id = await single.create(name, options);
  try {
    await single.start(id);
    const code = await single.awaitEnd(id, deadlineMs);
    // The process may hang in the kernel: then its output is what there is so far.
    const output = await single.logs(id, 2000);
    return { code: code ?? -1, output, timedOut: code === undefined };
  } finally {
    await single.remove(id);
  }
}
