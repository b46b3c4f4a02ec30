import type { ErrorCode } from '../base/codes/code.ts';
import { FleetError, type Problem } from '../base/errors.ts';
import { defined } from '../base/objects.ts';
import { WorkFailure } from './progress.ts';

interface Rule {
  readonly code: ErrorCode;
  readonly match: RegExp;
  readonly what: string;
  readonly next: string;
}

/** Messages of the engine about problems of the host, with the newest spellings. */
const rules: readonly Rule[] = [
  {
    code: 'engine.no-gpu-driver',
    match:
      /could not select device driver|no known GPU vendor found|AMD CDI spec not found|unknown or invalid runtime name/i,
    what: 'Docker cannot give containers a GPU',
    next: 'run `azp-fleet provision`, which installs nvidia-container-toolkit and restarts Docker',
  },
  {
    code: 'engine.cdi-stale',
    match: /unresolvable CDI devices/i,
    what: 'the CDI specification does not contain the GPU',
    next: 'run `nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml` on the host',
  },
  {
    code: 'engine.driver-not-loaded',
    match: /driver not loaded|nvml error/i,
    what: 'the NVIDIA driver is not loaded or does not match its library',
    next: 'run nvidia-smi on the host; after a driver update the host needs a reboot',
  },
  {
    code: 'engine.cuda-too-new',
    match: /unsatisfied condition: cuda/i,
    what: 'the image needs a newer CUDA than the driver offers',
    next: 'choose an older base image or a newer driver branch',
  },
  {
    code: 'engine.gpu-unknown',
    match: /unknown device/i,
    what: 'the GPU of the slot is missing',
    next: 'compare nvidia-smi -L on the host with the inventory',
  },
  {
    code: 'engine.endpoint-left',
    match: /endpoint with name \S+ already exists in network/i,
    what: 'Docker still keeps the network endpoint of a removed container',
    next: 'retried automatically; by hand: docker network disconnect -f azp-fleet NAME',
  },
  {
    code: 'engine.no-folder',
    match: /bind source path does not exist/i,
    what: 'a folder of the host that the container mounts is missing',
    next: 'mount or create it on the host, or correct its path in the inventory',
  },
  {
    code: 'engine.no-sizes',
    match: /storage[- ]?opt|pquota/i,
    what: 'the storage of Docker does not support size limits of containers',
    next: 'remove limits.disk from the inventory, or put the root directory of Docker on xfs with the mount option pquota',
  },
  {
    code: 'engine.disk-full',
    match: /no space left on device/i,
    what: 'the disk of Docker is full',
    next: 'free space below the Docker root directory (docker system df shows what uses it)',
  },
  {
    code: 'engine.unreachable',
    match: /ECONNREFUSED|ENOENT|ECONNRESET|EPIPE|socket hang up|EACCES/,
    what: 'the Docker Engine does not answer',
    next: 'check it with: systemctl status docker',
  },
  {
    code: 'engine.timeout',
    match: /operation was aborted|TimeoutError|aborted due to timeout/i,
    what: 'the Docker Engine did not answer in time',
    next: 'check it with: systemctl status docker; journalctl -u docker -n 50',
  },
];

const byStatus: Readonly<Record<number, ErrorCode>> = { 404: 'engine.not-found', 409: 'engine.conflict' };

/** Turns a dockerode error into a typed problem; `doing` completes "while …". */
export function engineFault(error: unknown, doing: string): FleetError {
  if (error instanceof FleetError) return error;
  const seen = textOf(error);
  const rule = rules.find((candidate) => candidate.match.test(seen));
  const status = statusOf(error);
  const problem: Problem =
    rule === undefined
      ? {
          code: (status === undefined ? undefined : byStatus[status]) ?? 'engine.failed',
          what: `Docker failed while ${doing}`,
          seen,
        }
      : { code: rule.code, what: `${rule.what} (while ${doing})`, seen, next: rule.next };
  return new FleetError(problem, { cause: error });
}

/** Returns the output of the last step of a failed build. */
export function outputOf(error: unknown): readonly string[] {
  const cause = error instanceof FleetError ? error.cause : error;
  return cause instanceof WorkFailure ? cause.output : [];
}

export function isEngineFault(error: unknown, code: ErrorCode): error is FleetError {
  return error instanceof FleetError && error.problem.code === code;
}

/** Returns the error of a refused create, with the next action. 404: the image is gone. 409: the name is in use. */
export function createFault(error: unknown, name: string): unknown {
  if (isEngineFault(error, 'engine.not-found'))
    return new FleetError(
      {
        code: 'engine.no-image',
        what: `Docker no longer has the image of container ${name}`,
        ...defined({ seen: error.problem.seen }),
        next: 'wait: the manager pulls or builds it again; if it returns, find what removes images (docker image prune -a)',
      },
      { cause: error.cause },
    );
  if (isEngineFault(error, 'engine.conflict'))
    return new FleetError(
      {
        code: 'engine.conflict',
        what: `another container has the name ${name}`,
        ...defined({ seen: error.problem.seen }),
        next: `rename or remove it on the host (docker ps -a --filter name=^/${name}$ shows it), or set another agentName; retried automatically`,
      },
      { cause: error.cause },
    );
  return error;
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined;
  return typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${error.name === 'Error' ? '' : `${error.name}: `}${error.message}`.trim();
}

/** Milliseconds that a call may take. A pooled request on a dead connection never returns. */
export const deadlines = {
  short: 15_000,
  /** Creating and removing wait for the disk. */
  normal: 60_000,
  /** Images are downloaded. */
  image: 3_600_000,
} as const;

/**
 * Returns a signal that aborts after so many milliseconds. Unlike AbortSignal.timeout it keeps the process running until
 * then: on a dead connection this timer may be the only handle left.
 */
export function deadline(ms: number): { readonly signal: AbortSignal; clear: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** Runs one call with a deadline and turns its error into a typed problem. */
export async function bounded<T>(
  doing: string,
  deadlineMs: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, clear } = deadline(deadlineMs);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([call(signal), late]);
  } catch (error) {
    throw engineFault(error, doing);
  } finally {
    clear();
  }
}
