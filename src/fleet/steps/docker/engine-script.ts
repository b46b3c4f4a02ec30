import { failFunction } from '../../../shared/base/shell.ts';

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
