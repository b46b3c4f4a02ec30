const units: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** `64g`, `512m`, `1.5g`, plain bytes; undefined: it is no size. */
export function sizeOf(text: string): number | undefined {
  const [, number = '', unit = 'b'] = /^(\d+(?:\.\d+)?)\s*([bkmgt])?(?:i?b)?$/i.exec(text.trim()) ?? [];
  const factor = units[unit.toLowerCase()];
  return number === '' || factor === undefined ? undefined : Math.round(Number(number) * factor);
}

/** Throws where it is no size. */
export function bytes(text: string): number {
  const size = sizeOf(text);
  if (size === undefined) throw new RangeError(`not a size: ${text}`);
  return size;
}
