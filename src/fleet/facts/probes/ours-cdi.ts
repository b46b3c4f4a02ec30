import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

/** The last line of a specification in /etc/cdi that was made for us, by a toolkit without a service for it. */
export const cdiMark = '# Made for azp-fleet, and taken away with the NVIDIA Container Toolkit.';

const suffix = '.before-azp-fleet';

/** What a file that is in the way is called afterwards. Engines read what ends in .yaml and .json. */
export function asideOf(path: string): string {
  return `${path}${suffix}`;
}

/** Specifications that we have made or set aside. */
export const oursCdiProbe: FactProbe<Facts['ours']['cdi']> = {
  name: 'ours-cdi',
  script: () => `for file in /etc/cdi/*; do
  case $file in *${suffix}) echo "aside $file"; continue ;; esac
  if grep -qsxF '${cdiMark}' "$file"; then echo "made $file"; fi
done`,
  parse: ({ stdout }) => {
    const lines = new KeyedLines(stdout);
    const paths = (key: string) => lines.all(key).filter((path) => /^\/etc\/cdi\/[\w.-]{1,200}$/.test(path));
    return { made: paths('made'), aside: paths('aside').map((path) => path.slice(0, -suffix.length)) };
  },
};
