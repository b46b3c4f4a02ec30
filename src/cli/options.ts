import path from 'node:path';

import {
  parseDuration,
  parseRate,
  rateExpected,
  parseShare,
  shareExpected,
  type Share,
} from '../shared/base/quantities.ts';
import { usageError } from '../shared/base/errors.ts';
import { noControl } from '../shared/base/foreign-text.ts';

const useExpected = 'replace it with an expected value';

/** Typed access to parsed options. Names are camel case, as in commander. */
export class Options {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  string(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  list(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
  }

  /** Returns the file to use instead of ssh's own configuration: an absolute path, or `none`. */
  sshConfig(cwd: string): string | undefined {
    const file = this.string('sshConfig');
    return file === undefined || file === 'none' ? file : path.resolve(cwd, file);
  }

  /** Returns a whole number within bounds; throws a usage error that states them. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return value;
    throw usageError({
      code: 'usage.option',
      what: `--${kebab(name)} is not a valid number`,
      expected: `a whole number from ${bounds.min} to ${bounds.max}`,
      seen: text,
      next: useExpected,
    });
  }

  /** Returns `90`, `90s`, `15m`, `4h` or `1d` as milliseconds. */
  duration(name: string): number | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    const duration = parseDuration(text);
    if (duration !== undefined) return duration;
    throw usageError({
      code: 'usage.option',
      what: `--${kebab(name)} is not a duration`,
      expected: 'a number with s, m, h or d, e.g. 90s, 15m, 4h',
      seen: text,
      next: useExpected,
    });
  }

  /** Returns an age (`30d`) or an ISO 8601 time as milliseconds since the epoch. */
  moment(name: string, now: number): number | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    const ago = parseDuration(text);
    const moment = ago === undefined ? momentOf(text) : now - ago;
    if (moment !== undefined) return moment;
    throw usageError({
      code: 'usage.option',
      what: `--${kebab(name)} is not a time`,
      expected: 'how long ago, e.g. 90m, 4h, 30d, or a time such as 2026-11-22T05:40:00Z',
      seen: text,
      next: useExpected,
    });
  }

  /** Returns the next `18:00` in the time zone of this machine, and whether that is tomorrow. `now`: milliseconds since the epoch. */
  timeOfDay(name: string, now: number): { readonly at: Date; readonly isTomorrow: boolean } | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
    if (hours !== undefined && minutes !== undefined) {
      const at = new Date(now);
      at.setHours(Number(hours), Number(minutes), 0, 0);
      const isTomorrow = at.getTime() <= now;
      if (isTomorrow) at.setDate(at.getDate() + 1);
      return { at, isTomorrow };
    }
    throw usageError({
      code: 'usage.option',
      what: `--${kebab(name)} is not a time of day`,
      expected: 'hours and minutes, e.g. 18:00',
      seen: text,
      next: useExpected,
    });
  }

  /** Returns `2` or `25%`. `least`: the smallest valid number or percentage. */
  share(name: string, { least }: { readonly least: number }): Share | undefined {
    const text = this.string(name);
    const share = text === undefined ? undefined : parseShare(text, least);
    if (text === undefined || share !== undefined) return share;
    throw usageError({
      code: 'usage.option',
      what: `--${kebab(name)} is not a valid number or percentage`,
      expected: shareExpected(least),
      seen: text,
      next: useExpected,
    });
  }

  /** Returns `50MiB/s` or `400Mbit/s` as bytes per second. */
  rate(name: string): number | undefined {
    const text = this.string(name);
    const bytes = text === undefined ? undefined : parseRate(text);
    if (text === undefined || bytes !== undefined) return bytes;
    throw usageError({
      code: 'usage.option',
      what: `--${kebab(name)} is not a valid rate`,
      expected: rateExpected,
      seen: text,
      next: useExpected,
    });
  }
}

function momentOf(text: string): number | undefined {
  const moment = /^\d{4}-\d\d-\d\d(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Throws if a name has a control character. `what`: `--pool`, `the name of a pool`. */
export function refuseControl(names: readonly string[], what: string): void {
  const seen = names.find((name) => !noControl.test(name));
  if (seen === undefined) return;
  throw usageError({
    code: 'usage.control',
    what: `${what} has a control character`,
    expected: 'a name without control characters',
    seen: JSON.stringify(seen),
    next: 'type the name again without it',
  });
}
