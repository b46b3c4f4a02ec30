import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { packagesFolder } from '../../packages/package-manager.ts';
import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** Listed files of a bundle: it has some thousand packages at most. */
const mostFiles = 8000;

const arrived = `set -- ${[`${packagesFolder}/pool`, HostPaths.images, HostPaths.archives].map((folder) => sh`${folder}/*`).join(' ')}
for file; do
  [ -e "$file" ] || continue
  stat -c 'arrived %s %n' "$@" 2>/dev/null | head -n ${mostFiles}
  break
done`;

/**
 * Reads the free bytes for unprivileged users, and the file system, of the folders of packages, their archives, kernels, images
 * and the manager's state, of Docker's data root, and of containerd's. For a missing folder its parent counts. `initramfs`: the largest one; a
 * new one is written beside it. `arrived`: files of a bundle on the host.
 */
export const diskProbe: FactProbe<Pick<Facts, 'disk' | 'containerdRoot' | 'initramfsBytes' | 'arrived'>> = {
  name: 'disk',
  facts: ['disk', 'containerdRoot', 'initramfsBytes', 'arrived'],
  byHand: 'df -Pk',
  script: () => `${arrived}
data=
if [ -r /etc/docker/daemon.json ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *'"data-root"'*:*'"/'*'"'*) data=\${line##*'"data-root"'} data=\${data#*'"'} data=\${data%%'"'*}; break ;; esac
  done </etc/docker/daemon.json
fi
store=/var/lib/containerd
if [ -r /etc/containerd/config.toml ]; then
  while read -r line || [ -n "$line" ]; do
    # A top-level key comes before the first table.
    case $line in
      '['*) break ;;
      root*=*[\\"\\']/*[\\"\\']*)
        case \${line%%=*} in root | 'root ') store=\${line#*[\\"\\']} store=\${store%%[\\"\\']*}; echo "containerd $store" ;; esac ;;
    esac
  done </etc/containerd/config.toml
fi
set --
for path in / /boot /opt /usr /var /var/cache /var/lib /var/lib/docker "\${data:-/}" "$store"; do
  while [ ! -d "$path" ]; do path=\${path%/*}; path=\${path:-/}; done
  case " $* " in *" $path "*) ;; *) set -- "$@" "$path" ;; esac
done
largest=0
for size in $(stat -L -c %s /boot/initrd.img-* /boot/initramfs-*.img 2>/dev/null); do
  if [ "$size" -gt "$largest" ]; then largest=$size; fi
done
echo "initramfs $largest"
printf 'path %s\\n' "$@"
df -Pk "$@" || exit`,
  line: /^(initramfs \d+$|path \/|containerd \/|arrived \d+ \/|Filesystem | *\S.* -?\d+% \/)/,
  parse: (output) => {
    const lines = output.split('\n').filter(Boolean);
    const header = lines.findIndex((line) => line.startsWith('Filesystem'));
    const paths = lines.flatMap((line) => (line.startsWith('path ') ? [line.slice('path '.length)] : []));
    const [containerdRoot = '/var/lib/containerd'] = lines.flatMap(
      (line) => /^containerd (\/.+)$/.exec(line)?.[1] ?? [],
    );
    const [initramfs = ''] = lines.flatMap((line) => /^initramfs (\d+)$/.exec(line)?.[1] ?? []);
    return {
      containerdRoot,
      initramfsBytes: Number(initramfs),
      arrived: Object.fromEntries(lines.flatMap(file)),
      disk:
        header < 0
          ? {}
          : Object.fromEntries(paths.flatMap((path, at) => volume(path, lines[header + 1 + at]))),
    };
  },
};

function file(line: string): [string, number][] {
  const [, bytes, path] = /^arrived (\d{1,15}) (\/[\w.+~%:/-]{1,400})$/.exec(line) ?? [];
  return bytes === undefined || path === undefined ? [] : [[path, Number(bytes)]];
}

function volume(path: string, line = ''): [string, Facts['disk'][string]][] {
  const [, available, mount] = / (\d+) +-?\d+% (\/.*)$/.exec(line) ?? [];
  return available === undefined || mount === undefined
    ? []
    : [[path, { freeBytes: Number(available) * 1024, mount }]];
}
