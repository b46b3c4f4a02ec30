import { sha256 } from '../../../shared/base/digest.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';

/**
 * Shell functions `await_engine` and `restart_engine`. They need `fail`.
 * They wait for an answer on the socket: systemd reports the unit active before the engine listens.
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

/** Enables and starts the engine, or fails with the end of its journal. */
export const startEngine = `systemctl enable -q docker.service
if ! systemctl start docker.service || ! await_engine; then
  fail 'Docker Engine did not start' 'an answer on /var/run/docker.sock within 120 s' "$(engine_log)" \\
    'journalctl -u docker.service'
fi`;

/** Restarts the engine, or fails with the end of its journal. */
export const restartScript = `${failFunction}
${engineFunctions}
restart_engine || fail 'Docker Engine did not restart' 'an answer within 120 s' "$(engine_log)" 'journalctl -u docker.service'`;

/**
 * Lets the dockerd of a package that is not installed yet read daemon.json: the package starts it, and one that does not start ends
 * all containers. Releases before 23 cannot only read it.
 */
export function trialScript(version: string): string {
  return sh`new=$trial/files/usr/bin/dockerd
if "$new" --help 2>/dev/null | grep -q -e --validate; then
  answer=$(PATH=$trial/files/usr/bin:$PATH "$new" --validate --config-file /etc/docker/daemon.json 2>&1) ||
    fail ${`Docker ${version} does not start with the daemon.json of this host`} 'a configuration that it accepts' "$answer" \
      'correct /etc/docker/daemon.json, and run again; the installed engine is unchanged'
fi`;
}

/** The folder of dockerd's configuration and of its backups. */
export const configFolder = '/etc/docker';

/**
 * Replaces daemon.json, only if it still has the text that the plan was made from. dockerd validates the new file first
 * where it can; the old one is restored when the engine does not start with it. The owner's file is kept as
 * `.before-azp-fleet`, the latest one as `.previous`.
 */
export function configScript(config: {
  /** The file's present text; undefined: absent. */
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
  [ "$seen" = "$from" ] || fail "$file has changed since the plan" "sha256 $from" "$seen" 'run again'
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
    answer=$(dockerd --validate --config-file "$file.new" 2>&1) || fail 'dockerd rejects its new configuration' \\
          'a valid daemon.json' "$answer" "compare with $file.new and correct $file by hand"
  fi
  mv "$file.new" "$file"
fi`;
  return config.restart ? `${head}\n${restart}` : head;
}

const restart = `if ! restart_engine; then
  log=$(engine_log)
  if [ -e "$file.previous" ]; then cp -p "$file.previous" "$file"; else rm -f "$file"; fi
  restart_engine || :
  fail 'Docker Engine did not start with its new configuration; the old one is restored' \\
      'an answer on /var/run/docker.sock within 120 s' "$log" 'journalctl -u docker.service'
fi`;
