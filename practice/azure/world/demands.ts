type Named = Readonly<Record<string, string>>;

/**
 * Demands as a pipeline writes them: `name`, `name -equals value`, `name -gtVersion 1.2.3`. Names ignore case; of
 * capabilities in several places the first that has a name counts.
 */
export function satisfies(capabilities: readonly Named[], demands: readonly string[]): boolean {
  return demands.every((demand) => {
    const [, name = '', operator, wanted = ''] = /^(\S+)(?:\s+-(\w+)\s+(.*))?$/u.exec(demand.trim()) ?? [];
    const value = valueIn(capabilities, name);
    if (value === undefined) return false;
    if (operator?.toLowerCase() === 'equals') return value.toLowerCase() === wanted.toLowerCase();
    if (operator?.toLowerCase() === 'gtversion') return compareVersions(value, wanted) >= 0;
    return operator === undefined;
  });
}

/** Looked up in the case that it was asked in first: pools are large, and that is nearly always the right one. */
function valueIn(capabilities: readonly Named[], name: string): string | undefined {
  for (const named of capabilities) {
    const wanted = name.toLowerCase();
    const value = named[name] ?? Object.entries(named).find(([each]) => each.toLowerCase() === wanted)?.[1];
    if (value !== undefined) return value;
  }
  return undefined;
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
