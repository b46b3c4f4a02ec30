/** So many, or so many percent of however many there are. */
export type Share =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** `3`, `25%`. Undefined: neither. */
export function parseShare(text: string): Share | undefined {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits === undefined || (percent === '%' && value > 100)) return undefined;
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
