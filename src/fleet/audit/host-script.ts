import { Raw, sh } from '../../shared/base/shell.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import type { AuditEntry } from './entry.ts';

/** The host's audit file; the earlier one has `.1` at its end. */
export const auditFile = `${HostPaths.state}/audit.jsonl`;

/** Bytes of an audit file; a line that would follow goes into a new one. */
export const auditFileBytes = 4 * 1024 * 1024;

/**
 * Returns shell text that defines `record EVENT [OUTCOME]`, which adds a line to the audit file and to the system's log. Login and
 * address are those that the host sees; the rest is what the client says. An end is not added to a file that was removed meanwhile.
 * Never fails: a full disk must not stop a change, and the log has the line.
 */
export function auditFunctions(entry: AuditEntry): string {
  return `${sh`entry=${JSON.stringify(entry).slice(1, -1)} log=${auditFile} most=${auditFileBytes}
`}login=\${SUDO_USER:-$(id -un)}
from=\${SSH_CONNECTION:-$(tr '\\0' '\\n' 2>/dev/null <"/proc/$PPID/environ" | sed -n 's/^SSH_CONNECTION=//p')}
from=\${from%% *}
case $login in *[!A-Za-z0-9._@-]*) login=unknown ;; esac
case $from in *[!A-Za-z0-9.:%]*) from=unknown ;; esac
append() (
  umask 077
  size=$(stat -c %s "$log" 2>/dev/null) || size=0
  [ "$size" -lt "$most" ] || mv -f "$log" "$log.1"
  printf '%s\\n' "$line" >>"$log"
)
record() {
  line="{\\"at\\":\\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\\",\\"event\\":\\"$1\\",\\"login\\":\\"$login\\",\\"from\\":\\"$from\\",$entry"
  line="$line\${2:+,\\"outcome\\":\\"$2\\"}}"
  [ "$1" != end ] && [ "$1" != cut ] || [ -f "$log" ] || log=/dev/null
  append 2>/dev/null || :
  printf '%s\\n' "$line" | timeout 5 logger -t azp-fleet-audit -p authpriv.notice -S 8192 2>/dev/null || :
}`;
}

/** Matches an outcome that a client may send: `changed 3`, `failed 1 change.failed`. */
export const outcomeForm = /^[a-z][a-z0-9. -]{0,99}$/;

/** Shell text that replaces an outcome of another form. */
export const checkOutcome = new Raw(`case $said in *[!a-z0-9.\\ -]*) said=invalid ;; esac`);
