/** So many, or so many percent of however many there are. */
export type Share =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** What a share may look like; `least`: the smallest that means something, of either kind. */
export function shareExpected(least: number): string {
  return `a whole number from ${least}, or a percentage from ${least}% to 100%`;
}

/** `3`, `25%`. Undefined: neither. */
export function parseShare(text: string, least = 0): Share | undefined {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits === undefined || value < least || (percent === '%' && value > 100)) return undefined;
  return percent === '%' ? { kind: 'percent', percent: value } : { kind: 'count', count: value };
}

/** As it was written. */
export function shareText(share: Share): string {
  return share.kind === 'count' ? String(share.count) : `${share.percent}%`;
}

/** Of so many; percentages are rounded down. */
export function shareOf(share: Share, total: number): number {
  return share.kind === 'count' ? share.count : Math.floor((share.percent * total) / 100);
}
