import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { text } from 'node:stream/consumers';

import { childEnvironment } from '../../artifacts/child-environment.ts';
import { codeOf, FleetError } from '../../../shared/base/errors.ts';
import type { Machine } from '../../packages/vendors.ts';

/** The docker command of this machine: it knows which engine is meant, and the passwords of registries. */
export interface Docker {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

interface Run {
  /** For errors: `pull X`. */
  readonly doing: string;
  readonly input?: string | Buffer;
  /** Takes what it writes to standard output; default: it is the answer. */
  readonly take?: (output: NodeJS.ReadableStream) => Promise<void>;
  readonly onLine?: (line: string) => void;
  /** Makes the error of its exit code and its last lines. */
  readonly failed?: (words: string) => FleetError;
}

const lastLines = 12;
/** Somebody waits for the end of what they have interrupted. */
const removeMs = 30_000;
const ownNames = /^(DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY|API_VERSION)|SSH_AUTH_SOCK)$/;

/** Runs it to its end; what it writes to standard output. */
export async function docker(
  { env, signal }: Docker,
  args: readonly string[],
  { doing, input, take, onLine, failed }: Run,
): Promise<string> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => ownNames.test(name)));
  const child = spawn('docker', args, {
    env: { ...childEnvironment(env), ...own },
    stdio: 'pipe',
    signal,
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
  // It is awaited once its output has ended.
  ended.catch(() => undefined);
  const lines: string[] = [];
  const said = createInterface({ input: child.stderr }).on('line', (line) => {
    onLine?.(line);
    lines.push(line);
    if (lines.length > lastLines) lines.shift();
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const words = (): string => lines.join('\n');
  let answer = '';
  let taken: unknown;
  try {
    answer = await (take === undefined ? text(child.stdout) : take(child.stdout).then(() => ''));
  } catch (error) {
    // What it wrote ends when it does: whether it failed says why.
    taken = error;
    child.stdout.resume();
  }
  const code = await ended.catch((error: unknown) => {
    if (signal.aborted || codeOf(error) !== 'ENOENT') throw error;
    throw noDocker(error);
  });
  await finished(child.stderr).catch(() => undefined);
  said.close();
  signal.throwIfAborted();
  if (code !== 0) throw failed?.(words()) ?? dockerFailed(doing, words() || `exit code ${code}`);
  if (taken !== undefined) throw taken;
  return answer;
}

/**
 * Runs a container of the image, which is gone when this ends. Whoever interrupts the docker command alone leaves the
 * container to its work: the command hands the signal on, and the first process of a container heeds none by default.
 */
export async function runContainer(
  tools: Docker,
  options: readonly string[],
  image: string,
  command: readonly string[],
  run: Run,
): Promise<string> {
  const name = `azp-fleet-bundle-${randomUUID()}`;
  try {
    return await docker(tools, ['run', '--rm', '--name', name, ...options, image, ...command], run);
  } catch (error) {
    if (tools.signal.aborted) await removeContainer(name, tools);
    throw error;
  }
}

/** It may be gone already, or not have come yet. */
async function removeContainer(name: string, { env }: Docker): Promise<void> {
  const own = { env, signal: AbortSignal.timeout(removeMs) };
  await docker(own, ['rm', '-f', name], { doing: `rm -f ${name}` }).catch(() => undefined);
}

/** What the engine runs on, in the words of `uname -m`. */
export async function engineMachine(tools: Docker): Promise<Machine | undefined> {
  const said = await docker(tools, ['version', '--format', '{{.Server.Arch}}'], { doing: 'version' });
  return ({ amd64: 'x86_64', arm64: 'aarch64' } as const)[said.trim() as 'amd64' | 'arm64'];
}

function noDocker(cause: unknown): FleetError {
  return new FleetError(
    {
      code: 'bundle.docker',
      what: 'there is no docker command on this machine, and the images of a bundle are made with it',
      next: 'install Docker here, or make the bundle on a machine that has it',
    },
    { cause },
  );
}

function dockerFailed(doing: string, seen: string): FleetError {
  return new FleetError({
    code: 'bundle.docker',
    what: `docker ${doing} failed on this machine`,
    seen,
    next: `try it by hand: docker ${doing}; DOCKER_HOST names another engine`,
  });
}
