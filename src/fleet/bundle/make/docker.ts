import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { text } from 'node:stream/consumers';

import { childEnvironment } from '../../artifacts/child-environment.ts';
import { codeOf, FleetError } from '../../../shared/base/errors.ts';
import type { Machine } from '../../packages/vendors.ts';

/** The docker command of this machine, which knows the engine and the registries' passwords. */
export interface Docker {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

interface Run {
  /** For errors: `pull X`. */
  readonly doing: string;
  readonly input?: string | Buffer;
  /** Reads its stdout; default: stdout is the answer. */
  readonly take?: (output: NodeJS.ReadableStream) => Promise<void>;
  readonly onLine?: (line: string) => void;
  /** Returns the error for its last lines on stderr. */
  readonly failed?: (words: string) => FleetError;
}

const lastLines = 12;
/** The user waits for this after an interruption. */
const removeMs = 30_000;
const ownNames = /^(DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY|API_VERSION)|SSH_AUTH_SOCK)$/;

/** Runs the docker command and returns its stdout. */
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
  // It is awaited after its output.
  ended.catch(() => undefined);
  const lines: string[] = [];
  const stderr = createInterface({ input: child.stderr }).on('line', (line) => {
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
    // The output ends early where the command fails: its exit code explains why.
    taken = error;
    child.stdout.resume();
  }
  const code = await ended.catch((error: unknown) => {
    if (signal.aborted || codeOf(error) !== 'ENOENT') throw error;
    throw noDocker(error);
  });
  await finished(child.stderr).catch(() => undefined);
  stderr.close();
  signal.throwIfAborted();
  if (code !== 0) throw failed?.(words()) ?? dockerFailed(doing, words() || `exit code ${code}`);
  if (taken !== undefined) throw taken;
  return answer;
}

/**
 * Runs a temporary container of the image. An interrupted docker command leaves the container running, because the first process of
 * a container ignores signals by default: it is removed then.
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

/** Removes the container, which may not exist. */
async function removeContainer(name: string, { env }: Docker): Promise<void> {
  const own = { env, signal: AbortSignal.timeout(removeMs) };
  await docker(own, ['rm', '-f', name], { doing: `rm -f ${name}` }).catch(() => undefined);
}

/** Returns the engine's machine type, as `uname -m` names it. */
export async function engineMachine(tools: Docker): Promise<Machine | undefined> {
  const machine = await docker(tools, ['version', '--format', '{{.Server.Arch}}'], { doing: 'version' });
  return ({ amd64: 'x86_64', arm64: 'aarch64' } as const)[machine.trim() as 'amd64' | 'arm64'];
}

function noDocker(cause: unknown): FleetError {
  return new FleetError(
    {
      code: 'bundle.docker',
      what: 'the docker command is missing on this machine, and a bundle needs it',
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
