import { listsWithModule } from '../../packages/kernel-module.ts';
import type { Facts, InstalledKernel } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

/**
 * Reads the kernels that the host may boot, and missing build tools. Modules are found in depmod's list: reading the modules
 * themselves takes longer than the whole script.
 *
 * A kernel may be built with another compiler than the default, like Ubuntu's HWE kernels. `/proc/version` then names it with its
 * version; a plain `gcc` is the default.
 */
export const kernelsProbe: FactProbe<Pick<Facts, 'kernels' | 'lacksToBuild'>> = {
  name: 'kernels',
  facts: ['kernels', 'lacksToBuild'],
  byHand: 'uname -r; ls /boot /lib/modules',
  script: () => `read -r running </proc/sys/kernel/osrelease || exit
set -- "/lib/modules/$running/modules.dep"
for image in /boot/vmlinuz-*; do
  list=/lib/modules/\${image#/boot/vmlinuz-}/modules.dep
  if [ "$list" != "$1" ] && [ -e "$list" ]; then set -- "$@" "$list"; fi
done
drivers=$(${listsWithModule} "$@")
for list; do
  folder=\${list%/modules.dep}
  headers=no-headers driver=no-driver
  if [ -e "$folder/build" ]; then headers=headers; fi
  case "
$drivers
" in *"
$list
"*) driver=driver ;; esac
  echo "kernel \${folder##*/} $headers $driver"
done
read -r version </proc/version
compiler=
for word in $version; do
  case $word in '('gcc-[0-9]* | '('*-gcc-[0-9]*) compiler=gcc-\${word#*gcc-} ;; esac
done
for tool in gcc make $compiler; do
  command -v "$tool" >/dev/null || echo "lacks $tool"
done`,
  line: /^(kernel .+ (no-)?headers (no-)?driver|lacks \S+)$/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    const [running, ...others] = lines.all('kernel').flatMap(installedKernel);
    const [newest] = others
      .filter(({ release }) => running !== undefined && compareKernels(release, running.release) > 0)
      .toSorted((left, right) => compareKernels(right.release, left.release));
    return {
      kernels: [running, newest].filter((each) => each !== undefined),
      lacksToBuild: lines.all('lacks').filter((tool) => /^[a-z]+(-\d+)?$/.test(tool)),
    };
  },
};

function installedKernel(line: string): InstalledKernel[] {
  const [release = '', headers, driver] = line.split(' ');
  // The release is used in package names and scripts.
  if (!/^\d[\w.+~-]{2,80}$/.test(release)) return [];
  return [{ release, headers: headers === 'headers', driver: driver === 'driver' }];
}

/**
 * Compares releases by the numbers before the flavour; below 0: the first is older. `6.8.0-110-generic` is newer than
 * `6.8.0-45-generic`, and `6.12.43+deb13-amd64` than `6.12.9+deb13-amd64`.
 */
export function compareKernels(first: string, second: string): number {
  const [left = [], right = []] = [first, second].map((release) =>
    [...release.replace(/-[a-z].*$/i, '').matchAll(/\d+/g)].map(([digits]) => Number(digits)),
  );
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
