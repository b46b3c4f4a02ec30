import { systemClock, type Clock } from './clock.ts';
import { usageError } from '../errors.ts';
import { machineRoot, type HostRoot } from './host-root.ts';

/** How many times faster the slow rules run: those of the service, of the manager, and the pauses of the client. */
export const clockVariable = 'AZP_FLEET_PRACTICE_CLOCK';
/** Where practice hosts have the /sys, /proc and /dev of their stand-in GPUs: the same folder on each. */
export const rootVariable = 'AZP_FLEET_PRACTICE_ROOT';

export interface Practice {
  readonly clock: Clock;
  readonly root: HostRoot;
  /** One line for people where this is practice; undefined where everything is real. */
  readonly note?: string;
}

/**
 * The clock and the root that a program is given. Only entry points call this: practice is chosen by whoever starts a
 * program, never by a configuration or an inventory. Usage errors for values that cannot be meant.
 */
export function practiceOf(env: Readonly<Record<string, string | undefined>>): Practice {
  const speed = speedOf(env[clockVariable] ?? '');
  const prefix = prefixOf(env[rootVariable] ?? '');
  const parts = [
    ...(speed === 1 ? [] : [`clock ${speed} times as fast (${clockVariable})`]),
    ...(prefix === '' ? [] : [`GPUs below ${prefix} (${rootVariable})`]),
  ];
  return {
    clock: systemClock(speed),
    root: prefix === '' ? machineRoot : { prefix },
    ...(parts.length === 0 ? {} : { note: `practice: ${parts.join('; ')}` }),
  };
}

function speedOf(text: string): number {
  const speed = text === '' ? 1 : Number(text);
  if (Number.isFinite(speed) && speed >= 1) return speed;
  throw wrong(clockVariable, 'a number from 1 on, e.g. 20', text);
}

function prefixOf(text: string): string {
  const folder = text.replace(/\/+$/u, '');
  if (folder === '' || /^(\/[\w.-]+)+$/u.test(folder)) return folder;
  throw wrong(rootVariable, 'an absolute path of letters, digits, ".", "_" and "-"', text);
}

function wrong(variable: string, expected: string, seen: string): Error {
  return usageError({
    code: 'usage.practice',
    what: `${variable} cannot be used`,
    expected,
    seen,
    next: `unset ${variable}, unless you practise with the fake server`,
  });
}
