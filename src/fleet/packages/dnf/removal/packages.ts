import { sh } from '../../../../shared/base/shell.ts';
import { unforeseenNames } from '../../shell.ts';
import { consequenceFilters } from '../consequences.ts';
import { dnfPrelude } from '../prelude.ts';

/** Lets packages be upgraded again; those that are not locked do not matter. */
export function unholdScript(names: readonly string[]): string {
  return [dnfPrelude, 'wait_for_lock', sh`unlock ${names}`].join('\n');
}

/**
 * dnf takes what leans on a package along with it: looked at before, and refused. No source is asked: one that does not
 * answer keeps nothing from going.
 */
export function removeScript(names: readonly string[], before?: string): string {
  return [
    dnfPrelude,
    unforeseenNames,
    consequenceFilters,
    'settle',
    sh`answer=$(dnf_run --disablerepo='*' --assumeno remove ${names} 2>&1) || :
trouble=$(printf '%s\n' "$answer" | troubles)
[ -z "$trouble" ] || fail 'dnf cannot take the packages away' 'a transaction that dnf can do' "$trouble" \
  'mend the packages of the host (dnf check), and run again'
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'dnf would also remove other packages' ${`only ${names.join(', ')} go`} "$unforeseen" \
  'remove them by hand if nothing needs them, and run again'`,
    ...(before === undefined ? [] : [before]),
    sh`unlock ${names}
dnf_run --disablerepo='*' -y remove ${names}`,
  ].join('\n');
}
