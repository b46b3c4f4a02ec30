import { sh } from '../../../../shared/base/shell.ts';
import { unforeseenNames } from '../../shell.ts';
import { consequenceFilters } from '../consequences.ts';
import { aptPrelude } from '../prelude.ts';

/** Lets packages be upgraded again; those that are not there, or not held, do not matter. */
export function unholdScript(names: readonly string[]): string {
  return [aptPrelude, 'wait_for_lock', sh`apt-mark unhold ${names} >/dev/null`].join('\n');
}

/**
 * apt takes what leans on a package along with it: looked at before, and refused, with all holds as they are. A package that pins others is purged: its
 * pin is configuration to dpkg, and would go on to hold. What no source offers is unknown to apt once it is purged.
 */
export function removeScript(names: readonly string[], before?: string): string {
  return [
    aptPrelude,
    unforeseenNames,
    consequenceFilters,
    'wait_for_lock',
    'mend',
    sh`answer=$(apt_get -s --allow-change-held-packages remove ${names} 2>&1) ||
  fail 'apt cannot take the packages away' 'a transaction that apt can do' "$answer" 'mend the packages of the host (apt-get -f install), and run again'
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'apt would also remove other packages' ${`only ${names.join(', ')} go`} "$unforeseen" \
  'remove them by hand if nothing needs them, and run again'`,
    ...(before === undefined ? [] : [before]),
    sh`apt-mark unhold ${names} >/dev/null 2>&1 || :
pins='' others=''
set -- ${names}
for name; do
  if dpkg-query -L "$name" 2>/dev/null | grep -q /etc/apt/preferences.d/.; then pins="$pins $name"; else others="$others $name"; fi
done
# Package names hold no blanks, and are meant to be split.
# shellcheck disable=SC2086
if [ -n "$pins" ]; then apt purge $pins; fi
# shellcheck disable=SC2086
if [ -n "$others" ]; then apt remove $others; fi`,
  ].join('\n');
}
