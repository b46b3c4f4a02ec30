import { defined } from '../../../shared/base/objects.ts';
import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';
import { eachSession } from './others.ts';

export type KernelDriverFacts = Omit<Facts['driver'], 'userspace'> & {
  /** Version in the log of a `.run` file's installer. */
  readonly runfileVersion?: string;
};

/** The driver's services: the first keeps GPUs initialised, the second sets up NVSwitches. */
export const driverServices = ['nvidia-persistenced.service', 'nvidia-fabricmanager.service'] as const;

/** The driver's modules, each before its dependencies. */
export const driverModules = 'nvidia_drm nvidia_modeset nvidia_uvm nvidia_peermem nvidia';

/** Exists while azp-fleet's installation from a `.run` file is in progress. */
const workFolder = `${HostPaths.runfile}/fetched/work`;

/** Reads the driver's state from the kernel and systemd. It never calls nvidia-smi, which takes a second and may hang. */
export const driverProbe: FactProbe<KernelDriverFacts> = {
  name: 'driver',
  facts: ['driver'],
  byHand: `systemctl show ${driverServices.join(' ')}`,
  script: ({ root }) => `${sh`root=${root.prefix}`}
if [ -r "$root/sys/module/nvidia/version" ]; then
  read -r version <"$root/sys/module/nvidia/version"; echo "loaded $version"
  if ! command -v nvidia-smi >/dev/null; then
    echo taken-away
    modules='${driverModules}'
    for module in $modules; do
      if [ -r "$root/sys/module/$module/refcnt" ]; then
        read -r users <"$root/sys/module/$module/refcnt"
        for holder in "$root/sys/module/$module/holders"/*; do
          case " $modules " in *" \${holder##*/} "*) users=$((users - 1)) ;; esac
        done
        if [ "$users" -gt 0 ]; then echo in-use; fi
      fi
    done
  fi
fi
if [ -r "$root/proc/driver/nvidia/version" ]; then
  read -r line <"$root/proc/driver/nvidia/version"; echo "nvrm $line"
fi
if [ -d "$root/sys/module/nouveau" ] || [ -d "$root/sys/module/nova_core" ]; then echo nouveau; fi
if [ -e /usr/bin/nvidia-uninstall ]; then
  echo runfile
  version=$(sed -n '1s/.*(\\([0-9][0-9.]*\\))$/\\1/p' /var/lib/nvidia/log 2>/dev/null)
  if [ -n "$version" ] && [ ! -d ${workFolder} ] && command -v nvidia-smi >/dev/null; then echo "runfile-version $version"; fi
  if [ -n "$version" ] && [ -e "/var/lib/dkms/nvidia/$version/source" ]; then
    echo 'dkms registered'
  elif [ -n "$version" ] && [ -e "/usr/src/nvidia-$version/dkms.conf" ]; then
    echo 'dkms sources'
  fi
fi
mok() { # CERTIFICATE ORIGIN
  [ -r "$1" ] || return 0
  command -v mokutil >/dev/null || { echo "mok $2 unknown $1"; return; }
  case $(mokutil --test-key "$1" 2>&1) in
    *'already enrolled'*) echo "mok $2 enrolled $1" ;;
    *'enrollment request'*) echo "mok $2 requested $1" ;;
    *'is already in db'*) echo "mok $2 firmware $1" ;;
    *'is blocked in '*) echo "mok $2 blocked $1" ;;
    *'is not enrolled'*) echo "mok $2 new $1" ;;
    *) echo "mok $2 unclear $1" ;;
  esac
}
if [ ! -d "$root/sys/firmware/efi" ]; then
  echo 'secure-boot 0'
else
  for variable in "$root"/sys/firmware/efi/efivars/SecureBoot-*; do
    if [ -r "$variable" ]; then
      # Four bytes of attributes, then the value. The arguments are meant to be split.
      # shellcheck disable=SC2046
      set -- $(od -An -tu1 "$variable")
      echo "secure-boot \${5:-}"
      if [ "\${5:-}" = 1 ]; then
        for configuration in /etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf; do
          if [ -r "$configuration" ]; then
            tr -d "\\"'" <"$configuration" | sed -n 's|^ *mok_certificate=\\(/[A-Za-z0-9.,_/-]*\\) *$|configured \\1|p'
          fi
        done | {
          while read -r _ key; do mok "$key" configured; done
          for key in /var/lib/shim-signed/mok/MOK.der /var/lib/dkms/mok.pub; do mok "$key" usual; done
        }
      fi
    fi
  done
fi
screen=
for status in "$root"/sys/class/drm/card*-*/status; do
  [ -r "$status" ] || continue
  read -r state <"$status"
  [ "$state" = connected ] || continue
  connector=\${status%/status}
  connector=\${connector##*/}
  cd -P "$root/sys/class/drm/\${connector%%-*}/device/driver" 2>/dev/null || continue
  case \${PWD##*/} in nouveau | nova* | nvidia*) screen=yes; echo "screen \${connector#*-}" ;; esac
done
if [ -n "$screen" ]; then
  ${eachSession(
    ['USER', 'CLASS', 'TYPE', 'SEAT'],
    `case $seat-$type in
    -*) ;;
    *-x11 | *-wayland | *-mir) echo "seat $seat $class $user" ;;
  esac`,
  )}
fi
for unit in nvidia-gridd nvidia-vgpu-mgr; do
  for folder in /lib/systemd/system /etc/systemd/system; do
    if [ -e "$folder/$unit.service" ]; then echo "vgpu $unit.service"; break; fi
  done
done
set --
for unit in ${driverServices.join(' ')}; do
  for folder in /lib/systemd/system /etc/systemd/system; do
    if [ -e "$folder/$unit" ]; then set -- "$@" "$unit"; break; fi
  done
done
if [ "$#" -gt 0 ] && [ -d /run/systemd/system ]; then
  systemctl show -p Id -p ActiveState -p UnitFileState -p ExecStart "$@" || exit
fi`,
  line: /^((loaded|nvrm|runfile-version|dkms|mok|configured|secure-boot|screen|seat|vgpu) |(Id|ActiveState|UnitFileState|ExecStart)=|(taken-away|in-use|nouveau|runfile)$)/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    const nvrm = lines.first('nvrm');
    const secureBoot = lines.first('secure-boot');
    const dkms = (['registered', 'sources'] as const).find((each) => each === lines.first('dkms'));
    const runfileVersion = driverVersion(lines.first('runfile-version'));
    const vgpu = lines.first('vgpu');
    return {
      loaded: lines.first('loaded'),
      open: nvrm === undefined ? undefined : nvrm.includes('Open Kernel Module'),
      nouveau: lines.has('nouveau'),
      secureBoot: secureBoot === undefined ? undefined : secureBoot === '1',
      keys: lines.all('mok').flatMap(key),
      runfile: lines.has('runfile'),
      ...defined({ dkms, runfileVersion, vgpu }),
      wasRemoved: lines.has('taken-away'),
      inUse: lines.has('in-use'),
      services: services(output),
      screens: screens(lines),
    };
  },
};

/** Validates a version, which is used in scripts. */
function driverVersion(text = ''): string | undefined {
  return /^\d{3,4}(\.\d+){1,2}$/.test(text) ? text : undefined;
}

const keyStates = ['enrolled', 'firmware', 'requested', 'blocked', 'new', 'unclear', 'unknown'] as const;

function key(line: string): KernelDriverFacts['keys'] {
  const [origin, name, path = ''] = line.split(' ');
  const state = keyStates.find((each) => each === name);
  if (state === undefined || !/^\/[\w./-]{1,200}$/.test(path)) return [];
  return [{ path, configured: origin === 'configured', state }];
}

/** Returns the seats whose desktop is on these GPUs. */
function screens(lines: KeyedLines): KernelDriverFacts['screens'] {
  const connectors = lines.all('screen').filter((name) => /^[\w-]{1,60}$/.test(name));
  const sessions = lines.all('seat').map((line) => line.split(' '));
  const seats = [...new Set(sessions.map(([seat = '']) => seat))].toSorted();
  return seats.map((seat) => {
    const users = sessions.flatMap(([of, kind, user]) =>
      of === seat && kind === 'user' ? (user ?? []) : [],
    );
    return { seat, connectors, users: [...new Set(users)].toSorted() };
  });
}

/** Parses systemctl's output: one block for each unit, separated by empty lines. */
function services(output: string): KernelDriverFacts['services'] {
  return output
    .split('\n\n')
    .map((block) => new KeyedLines(block))
    .flatMap((lines) => {
      const unit = driverServices.find((name) => name === lines.first('Id'));
      if (unit === undefined) return [];
      const [file = '', active = ''] = ['UnitFileState', 'ActiveState'].map((key) => lines.first(key));
      const forgets = lines.all('ExecStart').some((command) => command.includes(' --no-persistence-mode'));
      return [{ unit, file, active, ...(forgets ? { forgets } : {}) }];
    });
}
