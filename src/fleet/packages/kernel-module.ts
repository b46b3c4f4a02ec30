/**
 * Matches the line of NVIDIA's module in modules.dep, also by the names that Debian's DKMS gives it
 * (`nvidia-current`, `nvidia-current-open`, `nvidia-tesla-535`), not nvidia-modeset and its like.
 */
const line = String.raw`^([^:]*/)?nvidia(-current|-tesla-[0-9]+|-legacy-[0-9a-z]+)?(-open)?\.ko[.a-z0-9]*:`;

/** Command that prints which of these lists, `/lib/modules/RELEASE/modules.dep`, have an NVIDIA module. */
export const listsWithModule = `grep -Els '${line}'`;

/** Returns a shell condition: the kernel has an NVIDIA module. `release`: shell text, such as `$kernel`. */
export function hasModule(release: string): string {
  return `grep -Eqs '${line}' "/lib/modules/${release}/modules.dep"`;
}
