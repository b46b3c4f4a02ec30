import { systemClock, type Clock } from './clock.ts';
import { usageError } from './errors.ts';

/** How many times faster the slow rules run: those of the service, of the manager, and the pauses of the client. */
export const clockVariable = 'AZP_FLEET_PRACTICE_CLOCK';

interface Practice {
  readonly clock: Clock;
  /** One line for people where the clock is not the real one. */
  readonly note?: string;
}

/**
 * Returns the clock that the environment chooses. Only entry points call this: practice is chosen by whoever starts a
 * program, never by a configuration or an inventory. Throws a usage error for a value that is no speed.
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
    expected: 'a number from 1 on, e.g. 20',
    seen: text,
    next: `unset ${clockVariable}, unless you practise with the fake server`,
  });
}
