import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { FleetError } from '../base/errors.ts';
import { answer, neededFlag, neededNumber, neededText, text, type Answer } from './answers.ts';
import { bounded, deadline, deadlines } from './deadline.ts';
import type { Engine } from './engine.ts';
import { engineFault, isEngineFault } from './fault.ts';
import { Lines, LogFrames, logText } from './frames.ts';
import { archiveTails } from './tails.ts';

type SingleContainer = Pick<
  Engine,
  | 'create'
  | 'putArchive'
  | 'getArchive'
  | 'readTails'
  | 'start'
  | 'startWithInput'
  | 'awaitEnd'
  | 'stop'
  | 'isRunning'
  | 'exit'
  | 'logs'
  | 'followLogs'
  | 'remove'
  | 'removeUnlessRunning'
>;

/** What is read out of a container are the few KiB of a registration; what is in it decides how much comes. */
const maxArchiveBytes = 1024 * 1024;

/** What is done with one container. */
export function containers(docker: Docker): SingleContainer {
  return {
    async create(name, options) {
      return bounded(`creating container ${name}`, deadlines.normal, async (abortSignal) => {
        const { id } = await docker.createContainer({ ...options, name, abortSignal });
        return neededText({ id }, 'id');
      });
    },
    async putArchive(id, path, archive) {
      await bounded('copying files into a container', deadlines.normal, (abortSignal) =>
        docker.getContainer(id).putArchive(archive, { path, noOverwriteDirNonDir: '1', abortSignal }),
      );
    },
    async getArchive(id, path) {
      return bounded('copying files out of a container', deadlines.normal, async (abortSignal) => {
        const stream = await docker.getContainer(id).getArchive({ path, abortSignal });
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of stream) {
          chunks.push(chunk as Buffer);
          bytes += (chunk as Buffer).length;
          if (bytes > maxArchiveBytes) throw tooLarge(path);
        }
        return Buffer.concat(chunks);
      });
    },
    async readTails(id, path, accepts, limits) {
      return bounded('reading logs in a container', deadlines.normal, async (abortSignal) => {
        const stream = await docker.getContainer(id).getArchive({ path, abortSignal });
        return archiveTails(stream as Readable, accepts, limits);
      });
    },
    async start(id) {
      await bounded('starting a container', deadlines.normal, (abortSignal) =>
        docker.getContainer(id).start({ abortSignal }),
      );
    },
    async startWithInput(id, input) {
      await bounded('giving a container its input', deadlines.normal, async (abortSignal) => {
        const container = docker.getContainer(id);
        const stream = await container.attach({ stream: true, stdin: true, hijack: true, abortSignal });
        await container.start({ abortSignal });
        await new Promise<void>((resolve) => {
          stream.end(input, resolve);
        });
      });
    },
    awaitEnd: (id, deadlineMs) => awaitEnd(docker, id, deadlineMs),
    async stop(id, timeoutS) {
      await bounded('stopping a container', timeoutS * 1000 + deadlines.normal, (abortSignal) =>
        docker.getContainer(id).stop({ t: timeoutS, abortSignal }),
      ).catch(ignoreStopped);
    },
    async isRunning(id) {
      return bounded('looking at a container', deadlines.short, async (abortSignal) =>
        neededFlag(stateOf(await docker.getContainer(id).inspect({ abortSignal })), 'Running'),
      );
    },
    async exit(id) {
      return bounded('reading how a container ended', deadlines.short, async (abortSignal) => {
        const state = stateOf(await docker.getContainer(id).inspect({ abortSignal }));
        return {
          code: neededNumber(state, 'ExitCode'),
          oomKilled: state['OOMKilled'] === true,
          startedAt: text(state['StartedAt']),
          finishedAt: text(state['FinishedAt']),
        };
      });
    },
    async logs(id, tail) {
      const raw = await bounded('reading the output of a container', deadlines.short, (abortSignal) =>
        docker.getContainer(id).logs({ stdout: true, stderr: true, tail, follow: false, abortSignal }),
      );
      return logText(raw);
    },
    followLogs: (id, signal) => followLogs(docker, id, signal),
    remove: (id) => remove(docker, id, true),
    removeUnlessRunning: (id) => remove(docker, id, false),
  };
}

function stateOf(inspected: unknown): Answer {
  return answer(answer(inspected)['State']);
}

/** 404: it is gone. 409: it runs, or somebody else is removing it. */
async function remove(docker: Docker, id: string, force: boolean): Promise<void> {
  await bounded('removing a container', deadlines.normal, (abortSignal) =>
    docker.getContainer(id).remove({ force, v: true, abortSignal }),
  ).catch((error: unknown) => {
    if (!isEngineFault(error, 'engine.not-found') && !isEngineFault(error, 'engine.conflict')) throw error;
  });
}

async function* followLogs(docker: Docker, id: string, signal: AbortSignal): AsyncIterable<string> {
  const stream = await docker
    .getContainer(id)
    .logs({ stdout: true, stderr: true, follow: true, abortSignal: signal });
  const frames = new LogFrames();
  const lines = new Lines();
  for await (const chunk of stream) {
    for (const payload of frames.push(chunk as Buffer)) yield* lines.push(payload);
  }
  yield* lines.end();
}

function tooLarge(path: string): FleetError {
  return new FleetError({
    code: 'engine.file-too-large',
    what: `${path} in the container is larger than anything that is read from there`,
    expected: 'at most 1 MiB',
    next: 'look at what the image puts there, or let the image be built on the host',
  });
}

/** 304 (not running) and 404 (gone) are what stop wants. */
function ignoreStopped(error: unknown): void {
  if (isEngineFault(error, 'engine.not-found')) return;
  if (error instanceof Error && error.cause instanceof Error && 'statusCode' in error.cause) {
    if (error.cause.statusCode === 304) return;
  }
  throw error;
}

/** `not-running` answers at once for a container that has already ended. */
async function awaitEnd(docker: Docker, id: string, deadlineMs: number): Promise<number | undefined> {
  const { signal, clear } = deadline(deadlineMs);
  try {
    const waiting = docker.getContainer(id).wait({ condition: 'not-running', abortSignal: signal });
    return neededNumber(answer(await Promise.race([waiting, aborted(signal)])), 'StatusCode');
  } catch (error) {
    if (signal.aborted) return undefined;
    throw engineFault(error, 'awaiting a container');
  } finally {
    clear();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
