import { sh } from '../../../shared/base/shell.ts';
import { packageManagers } from '../../packages/distribution.ts';
import { asideEnding } from '../../packages/sources.ts';
import { allVendors, vendors } from '../../packages/vendors.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

const ending = '.disabled';

/** What names a vendor's repositories, or the mirror that our source for it has. */
const named = allVendors.map(
  (
    vendor,
  ) => sh`address=$(sed -n 's/^URIs: *//p; s/^baseurl=//p' "$folder"/azp-fleet-${vendor}.* 2>/dev/null | head -n 1)
    if grep -Eq ${vendors[vendor].pattern} "$aside" || { [ -n "$address" ] && grep -Fq "$address" "$aside"; }; then
      names="$names,"${vendor}
    fi`,
);

/** Sources of others that are switched off. */
export const oursSourcesProbe: FactProbe<Facts['ours']['sources']> = {
  name: 'ours-sources',
  script: () => `${sh`for folder in ${packageManagers.map(({ sourceFolder }) => sourceFolder)}; do`}
  for aside in "$folder"/*${ending}; do
    [ -f "$aside" ] || continue
    file=\${aside%${ending}}
    file=\${file%.azp-fleet-*}
    state=free names=-
    if [ -e "$file" ]; then state=taken; fi
    ${named.join('\n    ')}
    echo "$state $names $aside"
  done
done`,
  parse: ({ stdout }) => {
    const lines = new KeyedLines(stdout);
    return (['free', 'taken'] as const).flatMap((state) =>
      lines.all(state).flatMap((line) => source(line, state === 'taken')),
    );
  },
};

function source(line: string, taken: boolean): Facts['ours']['sources'] {
  const [, list = '', aside] = /^([a-z,-]*) (\/[^\p{C}]{1,300})$/u.exec(line) ?? [];
  if (aside === undefined) return [];
  const names = allVendors.filter((vendor) => list.split(',').includes(vendor));
  const by = allVendors.find((vendor) => aside.endsWith(asideEnding(vendor)));
  // What nobody has noted, and is for no repository of ours, is its owner's own affair.
  if (by === undefined && names.length === 0) return [];
  const file = aside.slice(0, -(by === undefined ? ending : asideEnding(by)).length);
  return [{ file, aside, by, names, taken }];
}
