const durationUnits = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `90s`, `30m`, `4h`, `2d` to milliseconds; a number alone is in seconds. Undefined: not a duration. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * (unit === '' ? 1000 : durationUnits[unit as keyof typeof durationUnits]);
}

/** Formats a duration: `40 s`, `12 min 40 s`, `2 h 10 min`. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const minutes = Math.floor(seconds / 60);
  const parts =
    minutes >= 60
      ? [`${Math.floor(minutes / 60)} h`, minutes % 60 === 0 ? '' : `${minutes % 60} min`]
      : [minutes === 0 ? '' : `${minutes} min`, minutes > 0 && seconds % 60 === 0 ? '' : `${seconds % 60} s`];
  return parts.filter(Boolean).join(' ');
}

const rateUnits: Readonly<Record<string, number>> = {
  'kB/s': 1e3,
  'MB/s': 1e6,
  'GB/s': 1e9,
  'KiB/s': 2 ** 10,
  'MiB/s': 2 ** 20,
  'GiB/s': 2 ** 30,
  'Mbit/s': 1e6 / 8,
  'Gbit/s': 1e9 / 8,
};

/** The lowest accepted rate: a lower one is probably a mistake, since a bundle would take hours. */
const leastBytesPerS = 16 * 1024;

export const rateExpected = 'a rate such as 50MiB/s, 20MB/s or 400Mbit/s, at least 16KiB/s';

/** Parses a rate to bytes per second; undefined: not a valid rate. */
export function parseRate(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([A-Za-z]+\/s)$/.exec(text) ?? [];
  const bytes = Number(number) * (rateUnits[unit] ?? 0);
  return bytes >= leastBytesPerS ? bytes : undefined;
}

/** A number, or a percentage of a total. */
export type Share =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** Describes the accepted form of a share; `least` is the lowest number and the lowest percentage. */
export function shareExpected(least: number): string {
  return `a whole number from ${least}, or a percentage from ${least}% to 100%`;
}

/** Parses `3` or `25%`. Undefined: neither. */
export function parseShare(text: string, least = 0): Share | undefined {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits === undefined || value < least || (percent === '%' && value > 100)) return undefined;
  return percent === '%' ? { kind: 'percent', percent: value } : { kind: 'count', count: value };
}

/** Formats a share as it was written. */
export function shareText(share: Share): string {
  return share.kind === 'count' ? String(share.count) : `${share.percent}%`;
}

/** Returns the share of a total; percentages are rounded down. */
export function shareOf(share: Share, total: number): number {
  return share.kind === 'count' ? share.count : Math.floor((share.percent * total) / 100);
}
