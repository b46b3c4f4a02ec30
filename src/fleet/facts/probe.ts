import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Answered } from '../../shared/base/reading.ts';
import type { Frame, Probe } from '../ssh/session/frames.ts';
import type { Facts } from './facts.ts';

/** Parameters of probe scripts. */
export interface ProbeTarget {
  /** The root of /sys and /proc for GPUs and their driver. */
  readonly root: HostRoot;
}

/**
 * One group of facts: the POSIX sh text that reads them and the parser of its output, side by side.
 * The script must work under dash, bash and busybox ash, change nothing, and end within milliseconds. Where a program fails that the
 * facts depend on, it exits with another code than 0: what was not read is unknown, never absent.
 */
export interface FactProbe<T> {
  /** `[a-z0-9-]+` */
  readonly name: string;
  /** Seconds; default 10. */
  readonly timeoutS?: number;
  /** The facts that depend on it. */
  readonly facts: readonly (keyof Facts)[];
  /** A command that a person runs on the host to see why it fails. */
  readonly byHand: string;
  /** What it means that it does not answer, where that is known. */
  readonly meaning?: { readonly what: string; readonly next: string };
  readonly script: (target: ProbeTarget) => string;
  /** Matches each line of the output; a line that it does not match makes the facts unknown. */
  readonly line: RegExp;
  /** Parses the output; empty output is the answer that nothing is there. Throws if a text in a line is not understood. */
  readonly parse: (output: string) => T;
}

/** Bytes of a probe's answer: more than a host with thousands of containers needs. */
export const answerLimit = 2 * 1024 * 1024;

/** Shell text: leaves the process that all probes share. What comes after it may take seconds on a healthy host. */
export const runAlone = '[ -z "${shared:-}" ] || exit 75';

/** Printed last: output without it was cut. */
const end = '\nend\n';

/** Returns the probe for a framed script. */
export function framed({ name, timeoutS, script }: FactProbe<unknown>, target: ProbeTarget): Probe {
  return {
    name,
    script: `${script(target)}\nprintf '\\nend\\n'`,
    ...(timeoutS === undefined ? {} : { timeoutS }),
  };
}

/** Reads the answer of a probe; undefined: there is none. */
export function readingOf<T>({ line, parse }: FactProbe<T>, frame: Frame | undefined): Answered<T> {
  const unknown = (why: string) => ({ kind: 'unknown', why }) as const;
  if (frame === undefined) return unknown('no answer');
  const { code, stdout, stderr, durationMs, timedOut } = frame;
  if (timedOut) return unknown(`no answer in ${Math.round(durationMs / 1000)} s`);
  if (code !== 0) return unknown([`exit code ${code}`, lastLine(stderr)].filter(Boolean).join(': '));
  if (!stdout.endsWith(end)) return unknown(isOverLimit(stdout) ? overLimit : 'its answer is cut');
  const output = stdout.slice(0, -end.length);
  const strange = output.split('\n').find((each) => each !== '' && !line.test(each));
  if (strange !== undefined) return unknown(`unexpected line: ${strange.slice(0, longest)}`);
  try {
    return { kind: 'value', value: parse(output) };
  } catch {
    return unknown('its answer is not understood');
  }
}

const overLimit = `its answer is longer than ${answerLimit / 1024 / 1024} MiB`;

function isOverLimit(text: string): boolean {
  return Buffer.byteLength(text) >= answerLimit;
}

/** Most characters of the host's words in a reason. */
const longest = 200;

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(0, longest);
}
