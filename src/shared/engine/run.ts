import type Docker from 'dockerode';
import type { Engine } from './engine.ts';

/** Eight GPUs have 10,000 lines, when nvidia-smi tells all about them. */
const mostLines = 50_000;

/**
 * Creates, starts, awaits and removes one container; past the deadline it is killed and what it wrote is returned.
 * `isCut`: it wrote more than the last 50,000 lines.
 */
export async function runToEnd(
  single: Pick<Engine, 'create' | 'start' | 'awaitEnd' | 'logs' | 'remove'>,
  name: string,
  options: Docker.ContainerCreateOptions,
  deadlineMs: number,
): ReturnType<Engine['run']> {
  const id = await single.create(name, options);
  let timedOut = false;
  try {
    await single.start(id);
    const code = await single.awaitEnd(id, deadlineMs);
    timedOut = code === undefined;
    // The process may hang in the kernel: then its output is what there is so far.
    const output = await single.logs(id, mostLines);
    const isCut = output.split('\n').length >= mostLines;
    return { code: code ?? -1, output, timedOut, isCut };
  } finally {
    // One that hangs in the kernel cannot be removed, either; that it hangs is what has to be told.
    await single.remove(id).catch((error: unknown) => {
      if (!timedOut) throw error;
    });
  }
}
