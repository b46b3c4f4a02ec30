import {
  type DaemonConfig,
  parseDaemonJson,
  renderDaemonJson,
  sameConfig,
  withEngineSettings,
  withGpuSettings,
} from '../docker/daemon-json.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { isObject } from '../../../shared/base/objects.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';

interface DaemonJsonNow {
  /** Text of the file; undefined: there is none. */
  readonly current: string | undefined;
  /** Text that was there before we first wrote; undefined: nothing is kept. */
  readonly before: string | undefined;
}

/** What the file is to be. Undefined: nothing of it is ours, or nobody can tell. */
type DaemonJsonThen = { readonly text: string | undefined } | undefined;

/** The oldest engine with CDI: what is written for it is all that we ever write. */
const everySwitch = '25.0.0';
const proxyKeys = ['http-proxy', 'https-proxy', 'no-proxy'];

/**
 * Takes our settings out again, each only where it still has our value: what the owner has set since stays. What was there
 * before us comes back to the letter where nothing else is left. `gpus: false`: what GPUs need stays. Pure.
 */
export function withoutOurSettings({ current, before }: DaemonJsonNow, gpus: boolean): DaemonJsonThen {
  const config = parseDaemonJson(current);
  if (current === undefined || config === undefined) return undefined;
  const had = before === undefined || isWhollyOurs(before) ? undefined : before;
  // A file that was never kept was not there, or we have never written it: then it is somebody else's.
  if (had === undefined && !isWhollyOurs(current)) return undefined;
  const origin = parseDaemonJson(had);
  if (origin === undefined) return undefined;
  const left = stripped(config, origin, gpus);
  if (sameConfig(left, config)) return undefined;
  if (sameConfig(left, origin)) return { text: had };
  return { text: renderDaemonJson(left) };
}

/** We have made the file: our way to write, and none but our settings. */
function isWhollyOurs(text: string): boolean {
  const config = parseDaemonJson(text);
  return (
    config !== undefined &&
    Object.keys(config).length > 0 &&
    renderDaemonJson(config) === text &&
    sameConfig(stripped(config, {}, true), {})
  );
}

/** Our settings out of `config`; those of them that `origin` had, as it had them. */
function stripped(config: DaemonConfig, origin: DaemonConfig, gpus: boolean): DaemonConfig {
  const { 'live-restore': liveRestore, 'log-opts': logOpts } = withEngineSettings(
    {},
    { swarm: false, proxy: { noProxy: [] } },
  );
  const { runtimes, features, experimental } = withGpuSettings({}, everySwitch);
  const ours: DaemonConfig = {
    'live-restore': liveRestore,
    'log-opts': logOpts,
    proxies: Object.fromEntries(proxyKeys.map((key) => [key, undefined])),
    ...(gpus ? { runtimes, features, experimental } : {}),
  };
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => {
      if (!(key in ours)) return [[key, value]];
      const then = reverted(value, ours[key], origin[key]);
      return then === undefined ? [] : [[key, then]];
    }),
  );
}

/** A value as it was before; of an object member by member. An address of a proxy is whatever was written last. */
function reverted(value: unknown, ours: unknown, origin: unknown): unknown {
  if (!isObject(value) || !isObject(ours)) return sameValue(value, ours) ? origin : value;
  const before = isObject(origin) ? origin : {};
  const left = Object.entries(value).flatMap(([key, each]) => {
    if (!(key in ours)) return [[key, each]];
    const isOurs = ours[key] === undefined || sameValue(each, ours[key]);
    const then = isOurs ? before[key] : each;
    return then === undefined ? [] : [[key, then]];
  });
  return left.length === 0 && !isObject(origin) ? origin : Object.fromEntries(left);
}

function sameValue(one: unknown, other: unknown): boolean {
  return sameConfig({ value: one }, { value: other });
}

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
[ "$seen" = "$from" ] || fail "$file has changed since the plan" "sha256 $from" "$seen" 'run again'
${put}
${aside}
if systemctl is-active -q docker.service; then systemctl reload docker.service; fi`;
}
