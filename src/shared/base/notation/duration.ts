const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `30m`, `4h`, `2d` in milliseconds; a number alone is seconds. Undefined: it is none. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * (unit === '' ? 1000 : units[unit as keyof typeof units]);
}
