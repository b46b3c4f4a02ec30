/** Demands as a pipeline writes them: `name`, `name -equals value`, `name -gtVersion 1.2.3`. Names ignore case. */
export function satisfies(
  capabilities: Readonly<Record<string, string>>,
  demands: readonly string[],
): boolean {
  const values = new Map(Object.entries(capabilities).map(([name, value]) => [name.toLowerCase(), value]));
  return demands.every((demand) => {
    const [, name = '', operator, wanted = ''] = /^(\S+)(?:\s+-(\w+)\s+(.*))?$/u.exec(demand.trim()) ?? [];
    const value = values.get(name.toLowerCase());
    if (value === undefined) return false;
    if (operator?.toLowerCase() === 'equals') return value.toLowerCase() === wanted.toLowerCase();
    if (operator?.toLowerCase() === 'gtversion') return compareVersions(value, wanted) >= 0;
    return operator === undefined;
  });
}

/** Despite its name `-gtVersion` is met by the same version too. */
function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
