/** `2026-11-21 12:03 UTC`; undefined when it is no time. Pure. */
export function minuteOf(at: string): string | undefined {
  if (Number.isNaN(Date.parse(at))) return undefined;
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
