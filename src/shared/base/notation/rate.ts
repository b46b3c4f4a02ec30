const units: Readonly<Record<string, number>> = {
  'kB/s': 1e3,
  'MB/s': 1e6,
  'GB/s': 1e9,
  'KiB/s': 2 ** 10,
  'MiB/s': 2 ** 20,
  'GiB/s': 2 ** 30,
  'Mbit/s': 1e6 / 8,
  'Gbit/s': 1e9 / 8,
};

/** Less than this is taken for a slip of the pen: a bundle would be on its way for hours. */
const leastBytesPerS = 16 * 1024;

export const rateExpected = 'a rate such as 50MiB/s, 20MB/s or 400Mbit/s, at least 16KiB/s';

/** Bytes per second; undefined when the text is no rate that can be used. */
export function parseRate(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([A-Za-z]+\/s)$/.exec(text) ?? [];
  const bytes = Number(number) * (units[unit] ?? 0);
  return bytes >= leastBytesPerS ? bytes : undefined;
}
