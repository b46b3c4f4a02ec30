/** True when a version as packages or programs print it (`5:29.7.2-1`, `20.10.24+dfsg1`) is the wanted release. */
export function isRelease(seen: string | undefined, wanted: string): boolean {
  if (seen === undefined) return false;
  const bare = seen.replace(/^\d+:/, '');
  return bare.startsWith(wanted) && !/^[\d.]/.test(bare.slice(wanted.length));
}

/** `atLeast('29.7.2', 29, 2)` */
export function atLeast(version: string, major: number, minor: number): boolean {
  const [seenMajor = 0, seenMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return seenMajor > major || (seenMajor === major && seenMinor >= minor);
}
