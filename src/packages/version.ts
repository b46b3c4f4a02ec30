/** `5:29.7.2-1~debian.12~bookworm` → `29.7.2`; `580.95.05-0ubuntu1` → `580.95.05`; `3:29.7.2-1.el9` → `29.7.2`. */
export function upstream(version: string): string {
  return version.replace(/^\d+:/, '').replace(/-[^-]*$/, '');
}
