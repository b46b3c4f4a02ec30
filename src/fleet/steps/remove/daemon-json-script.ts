import { sha256 } from '../../../shared/base/digest.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';

/**
 * Puts dockerd's configuration back, only over the text that the plan was made from. A running engine reads it anew without
 * a restart. `keeps`: something of ours stays in it, and what was there before is kept on.
 */
export function restoreScript(config: {
  readonly from: string;
  /** Undefined: there was none. */
  readonly to: string | undefined;
  readonly keeps: boolean;
}): string {
  const { from, to, keeps } = config;
  const put =
    to === undefined
      ? 'rm -f "$file"'
      : sh`printf %s ${to} >"$file.new"
chmod 644 "$file.new"
mv "$file.new" "$file"`;
  const aside = keeps ? 'rm -f "$file.previous"' : 'rm -f "$file.before-azp-fleet" "$file.previous"';
  return `${failFunction}
file=/etc/docker/daemon.json
${sh`from=${sha256(from)}`}
seen=$(sha256sum <"$file" | cut -c 1-64)
[ "$seen" = "$from" ] || fail "$file has changed since the plan was made" "sha256 $from" "$seen" 'plan again'
${put}
${aside}
if systemctl is-active -q docker.service; then systemctl reload docker.service; fi`;
}
