import type { Facts, GatheredFacts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

type MachineFacts = Omit<GatheredFacts, 'unknown' | 'os'> & Pick<Facts, 'rebootRequired'>;

/** Reads the machine's facts. The login user is the one before sudo, so that facts do not depend on the way to root. */
export const machineProbe: FactProbe<MachineFacts> = {
  name: 'machine',
  facts: [
    'arch',
    'kernel',
    'machineId',
    'bootId',
    'time',
    'uptimeS',
    'systemd',
    'login',
    'memoryMiB',
    'cpus',
    'rebootRequired',
    'platform',
  ],
  byHand: 'uname -r -m; systemctl --version; nproc',
  script: () => `
# Two words.
# shellcheck disable=SC2046
set -- $(uname -r -m)
[ "$#" -eq 2 ] || exit 1
printf 'kernel %s\\narch %s\\n' "$1" "$2"
if [ -r /etc/machine-id ]; then read -r id </etc/machine-id; printf 'machine-id %s\\n' "$id"; fi
read -r id </proc/sys/kernel/random/boot_id; printf 'boot-id %s\\n' "$id"
now=$(date +%s) || exit
printf 'time %s\\n' "$now"
read -r up _ </proc/uptime; printf 'up %s\\n' "$up"
read -r init </proc/1/stat; printf 'init %s\\n' "$init"
if [ -d /run/systemd/system ]; then
  # All of systemd's programs load this library of their own version; two of them, or none, say nothing.
  version=
  for library in /lib/systemd/libsystemd-shared-*.so /lib/*/systemd/libsystemd-shared-*.so /usr/lib64/systemd/libsystemd-shared-*.so; do
    if [ -e "$library" ]; then version="$version systemd \${library##*-shared-}"; fi
  done
  case $version in *'.so '* | '') version=" $(systemctl --version)" || exit ;; esac
  printf 'systemd%s\\n' "$version"
fi
uid=\${SUDO_UID:-}
if [ -z "$uid" ]; then
  while read -r key _ value _; do
    case $key in Uid:) uid=$value; break ;; esac
  done </proc/self/status
fi
printf 'user %s\\nuid %s\\n' "\${SUDO_USER:-$(id -un)}" "$uid"
while read -r key value _; do
  case $key in MemTotal:) printf 'memory %s\\n' "$value"; break ;; esac
done </proc/meminfo
cpus=$(nproc) || exit
printf 'cpus %s\\n' "$cpus"
if [ -e /run/reboot-required ]; then echo reboot-required; fi
if [ -e /etc/nv_tegra_release ]; then echo 'platform jetson'; elif [ -e /dev/dxg ]; then echo 'platform wsl'
elif [ -e /etc/dgx-release ]; then echo 'platform dgx'; fi`,
  // systemctl prints its features in a second line.
  line: /^((kernel|arch|machine-id|boot-id|time|up|init|systemd|user|uid|memory|cpus|platform)( |$)|reboot-required$|[+-])/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    const systemd = /^systemd (\d+)/.exec(lines.first('systemd') ?? '')?.[1];
    const platform = lines.first('platform');
    return {
      arch: lines.first('arch') ?? '',
      kernel: lines.first('kernel') ?? '',
      machineId: lines.first('machine-id') ?? '',
      bootId: lines.first('boot-id') ?? '',
      time: milliseconds(lines.number('time')),
      uptimeS: upSeconds(lines.first('up'), lines.first('init')),
      systemd: systemd === undefined ? undefined : Number(systemd),
      login: { user: lines.first('user') ?? '', uid: lines.number('uid') ?? 0 },
      memoryMiB: Math.floor((lines.number('memory') ?? 0) / 1024),
      cpus: lines.number('cpus') ?? 0,
      rebootRequired: lines.has('reboot-required'),
      platform: platforms.find((each) => each === platform),
    };
  },
};

const platforms = ['jetson', 'wsl', 'dgx'] as const;

/** Returns the seconds since init started: a container's kernel is older than the container. */
function upSeconds(up: string | undefined, init: string | undefined): number | undefined {
  // Field 22 of proc_pid_stat(5), the 20th after the name: start time in 1/100 s since the kernel's boot.
  const started = init?.replace(/^.*\) /, '').split(' ')[19];
  const seconds = Number(up ?? Number.NaN) - Number(started ?? Number.NaN) / 100;
  return Number.isFinite(seconds) ? Math.max(0, Math.floor(seconds)) : undefined;
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Reads os-release(5), with or without quotes. */
export const osProbe: FactProbe<Facts['os']> = {
  name: 'os',
  facts: ['os'],
  byHand: 'cat /etc/os-release',
  script: () =>
    `while IFS= read -r line || [ -n "$line" ]; do printf '%s\\n' "$line"; done </etc/os-release || exit`,
  // os-release(5) may have lines of any kind; without one of its fields it is none.
  line: /^/,
  parse: (output) => {
    const fields = new Map<string, string>();
    for (const line of output.split('\n')) {
      const [, key, value] = /^\s*([A-Z_0-9]+)=(.*)$/.exec(line) ?? [];
      if (key !== undefined && value !== undefined) fields.set(key, unquote(value.trim()));
    }
    if (output !== '' && fields.size === 0) throw new Error('no field of os-release');
    const field = (key: string) => fields.get(key) ?? '';
    return {
      id: field('ID'),
      idLike: field('ID_LIKE').split(/\s+/).filter(Boolean),
      versionId: field('VERSION_ID'),
      codename: field('UBUNTU_CODENAME') || field('VERSION_CODENAME'),
      pretty: field('PRETTY_NAME') || `${field('ID')} ${field('VERSION_ID')}`.trim(),
    };
  },
};

function unquote(value: string): string {
  const [, quote, inner] = /^(["'])(.*)\1$/.exec(value) ?? [];
  if (inner === undefined) return value;
  return quote === '"' ? inner.replaceAll(/\\(["\\$`])/g, '$1') : inner;
}
