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
  /** Text of the file; undefined: absent. */
  readonly current: string | undefined;
  /** Text before azp-fleet's first change; undefined: no backup. */
  readonly before: string | undefined;
}

/** The file's new text (undefined: delete it). Undefined: the file has no settings of azp-fleet, or that is unknown. */
type DaemonJsonThen = { readonly text: string | undefined } | undefined;

/** The oldest engine with CDI: its settings include all that azp-fleet ever writes. */
const everySwitch = '25.0.0';
const proxyKeys = ['http-proxy', 'https-proxy', 'no-proxy'];

/**
 * Removes azp-fleet's settings that still have its values; later changes by the owner stay. Restores the original text exactly
 * where nothing else differs. `gpus: false`: settings for GPUs stay. Pure.
 */
export function withoutOurSettings({ current, before }: DaemonJsonNow, gpus: boolean): DaemonJsonThen {
  const config = parseDaemonJson(current);
  if (current === undefined || config === undefined) return undefined;
  const had = before === undefined || isWhollyOurs(before) ? undefined : before;
  // Without a backup the file was new, or azp-fleet never wrote it: then it is the owner's.
  if (had === undefined && !isWhollyOurs(current)) return undefined;
  const origin = parseDaemonJson(had);
  if (origin === undefined) return undefined;
  const left = stripped(config, origin, gpus);
  if (sameConfig(left, config)) return undefined;
  if (sameConfig(left, origin)) return { text: had };
  return { text: renderDaemonJson(left) };
}

/** Returns whether azp-fleet created the file: its formatting, and only its settings. */
function isWhollyOurs(text: string): boolean {
  const config = parseDaemonJson(text);
  return (
    config !== undefined &&
    Object.keys(config).length > 0 &&
    renderDaemonJson(config) === text &&
    sameConfig(stripped(config, {}, true), {})
  );
}

/** Removes azp-fleet's settings from `config`, or resets them to the values in `origin`. */
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

/** Reverts a value, objects member by member. Proxy addresses have no fixed value and are always reverted. */
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
 * Restores dockerd's configuration, only if the file still has the text that the plan was made from. A running engine reloads
 * it without a restart. `keeps`: settings of azp-fleet stay, and so does the backup.
 */
export function restoreScript(config: {
  readonly from: string;
  /** Undefined: delete the file. */
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
