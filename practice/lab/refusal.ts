/** What decides whether a machine can have a lab. */
export interface Machine {
  readonly isRoot: boolean;
  readonly hasApt: boolean;
  /** Debian packages that the lab needs and that are not there. */
  readonly missing: readonly string[];
}

/** One line that says what is missing and how to get it; undefined where nothing stands in the way. */
export function refusal({ isRoot, hasApt, missing }: Machine): string | undefined {
  if (!isRoot)
    return 'The lab starts real machines and needs root. Next: run it as root, for example with sudo -E.';
  if (missing.length === 0 || hasApt) return undefined;
  return `The lab needs ${missing.join(', ')} and can install them on Debian only. Next: install them, or use Debian 12.`;
}
