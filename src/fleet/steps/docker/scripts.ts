import { sha256 } from '../../../shared/base/digest.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';

/**
 * Shell functions `await_engine [VERSION]` and `restart_engine`. They need `fail`.
 * A socket that answers is the only proof: systemd calls the unit active before the engine listens.
 */
export const engineFunctions = `await_engine() {
  waited=0
  until version=$(docker version --format '{{.Server.Version}}' 2>/dev/null) && [ -n "$version" ]; do
    [ "$waited" -lt 120 ] || return 1
    waited=$((waited + 1))
    sleep 1
  done
}
engine_log() {
  journalctl -u docker.service -n 15 --no-pager -o cat 2>/dev/null || :
}
restart_engine() {
  systemctl reset-failed docker.service 2>/dev/null || :
  systemctl restart docker.service && await_engine
}`;

/** Starts the engine now and at every boot, or ends with its last words. */
export const startEngine = `systemctl enable -q docker.service
if ! systemctl start docker.service || ! await_engine; then
  fail 'Docker Engine does not start' 'an answer on /var/run/docker.sock within 120 s' "$(engine_log)" \\
    'journalctl -u docker.service'
fi`;

/** An engine that runs is restarted, or ends with its last words. */
export const restartScript = `${failFunction}
${engineFunctions}
restart_engine || fail 'Docker Engine does not restart' 'an answer within 120 s' "$(engine_log)" 'journalctl -u docker.service'`;

/** Where dockerd's configuration is written, with what was there before beside it. */
export const configFolder = '/etc/docker';

/**
 * Puts a new daemon.json in place: only over the text that the plan was made from, tried by dockerd first where it
 * can, and taken back when the engine does not come up with it. The owner's file stays beside it for ever as
 * `.before-azp-fleet`, the last one as `.previous`.
 */
export function configScript(config: {
  /** The text the file has now; undefined: there is none. */
  readonly from: string | undefined;
  readonly to: string;
  readonly restart: boolean;
}): string {
  const head = `${failFunction}
${engineFunctions}
file=/etc/docker/daemon.json
${sh`from=${config.from === undefined ? 'absent' : sha256(config.from)} to=${sha256(config.to)}`}
seen=absent
if [ -e "$file" ]; then seen=$(sha256sum <"$file" | cut -c 1-64); fi
if [ "$seen" != "$to" ]; then
  [ "$seen" = "$from" ] || fail "$file has changed since the plan was made" "sha256 $from" "$seen" 'plan again'
  install -d -m 755 /etc/docker
  if [ -e "$file" ]; then
    [ -e "$file.before-azp-fleet" ] || cp -p "$file" "$file.before-azp-fleet"
    cp -p "$file" "$file.previous"
  else
    rm -f "$file.previous"
  fi
  ${sh`printf %s ${config.to}`} >"$file.new"
  chmod 644 "$file.new"
  if dockerd --help 2>/dev/null | grep -q -e --validate; then
    answer=$(dockerd --validate --config-file "$file.new" 2>&1) || fail 'dockerd refuses its new configuration' \\
      'a valid daemon.json' "$answer" "look at $file.new and correct $file by hand"
  fi
  mv "$file.new" "$file"
fi`;
  return config.restart ? `${head}\n${restart}` : head;
}

const restart = `if ! restart_engine; then
  words=$(engine_log)
  if [ -e "$file.previous" ]; then cp -p "$file.previous" "$file"; else rm -f "$file"; fi
  restart_engine || :
  fail 'Docker Engine does not come up with its new configuration; the old one is back' \\
    'an answer on /var/run/docker.sock within 120 s' "$words" 'journalctl -u docker.service'
fi`;
