import { systemClock, type Clock } from './clock.ts';
import { usageError } from './errors.ts';

/** The speed of slow rules: those of the service, of the manager, and the pauses of the client. */
export const clockVariable = 'AZP_FLEET_PRACTICE_CLOCK';

interface Practice {
  readonly clock: Clock;
  /** One line for people when the clock is not the real one. */
  readonly note?: string;
}

/**
 * Returns the clock that the environment selects. Only entry points call this: the user who starts a program selects
 * practice, never a configuration or an inventory. Throws a usage error for an invalid speed.
 */
export function practiceOf(env: Readonly<Record<string, string | undefined>>): Practice {
  const speed = speedOf(env[clockVariable] ?? '');
  return {
    clock: systemClock(speed),
    ...(speed === 1 ? {} : { note: `practice: clock ${speed} times as fast (${clockVariable})` }),
  };
}

function speedOf(text: string): number {
  const speed = text === '' ? 1 : Number(text);
  if (Number.isFinite(speed) && speed >= 1) return speed;
  throw usageError({
    code: 'usage.practice',
    what: `${clockVariable} cannot be used`,
    expected: 'a number of at least 1, e.g. 20',
    seen: text,
    next: `unset ${clockVariable}, unless you practise with the fake server`,
  });
}
