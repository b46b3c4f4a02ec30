/** Returns the upstream version: `5:29.7.2-1~debian.12~bookworm` → `29.7.2`; `580.95.05-0ubuntu1` → `580.95.05`; `3:29.7.2-1.el9` → `29.7.2`. */
export function upstream(version: string): string {
  return version.replace(/^\d+:/, '').replace(/-[^-]*$/, '');
}

/**
 * Compares two versions by their leading numbers; negative: the first is older. `9.10` is newer than `9.9`. A number that only
 * one of them has is ignored: `580` and `580.95.05` are equal.
 */
export function compareVersions(first: string, second: string): number {
  const [left, right] = [first, second].map((version) =>
    version.split('.').map((part) => parseInt(part, 10)),
  );
  for (const [at, number] of (left ?? []).entries()) {
    const difference = number - (right?.[at] ?? number);
    if (Number.isNaN(difference)) return 0;
    if (difference !== 0) return difference;
  }
  return 0;
}
