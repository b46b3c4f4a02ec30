import { sh } from '../../../base/shell.ts';
import { unforeseenNames } from '../../shell.ts';
import { consequenceFilters } from '../consequences.ts';
import { dnfPrelude } from '../prelude.ts';

/** Lets packages be upgraded again; those that are not locked do not matter. */
export function unholdScript(names: readonly string[]): string {
  return [dnfPrelude, 'wait_for_lock', sh`lock_list delete ${names} >/dev/null 2>&1 || :`].join('\n');
}

/** dnf takes what leans on a package along with it: looked at before, and refused. */
export function removeScript(names: readonly string[]): string {
  return [
    dnfPrelude,
    unforeseenNames,
    consequenceFilters,
    'wait_for_lock',
    sh`answer=$(dnf_run --assumeno remove ${names} 2>&1) || :
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'dnf would also remove other packages' ${`only ${names.join(', ')} go`} "$unforeseen" \
  'remove them by hand if nothing needs them, and run again'
lock_list delete ${names} >/dev/null 2>&1 || :
dnf_run -y remove ${names}`,
  ].join('\n');
}
