import { z } from 'zod';

import { foreignJson } from '../../../shared/base/foreign-text.ts';
import { sh } from '../../../shared/base/shell.ts';
import { cdiLibraries, describesGpus } from '../../../shared/contract/gpus.ts';
import { isOurKind, Labels } from '../../../shared/contract/paths.ts';
import { packageManagers } from '../../packages/distribution.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

export type EngineFacts = Omit<Facts['docker'], 'daemonJson' | 'podman'> & {
  readonly toolkitCdi: Omit<Facts['toolkit'], 'version' | 'unpackaged'>;
  /** A toolkit exists, from a package or not. */
  readonly toolkitThere: boolean;
  /** Names of running containers of others. */
  readonly foreign: readonly string[];
};

/** Only images of this name: a machine may have thousands of others. */
const agentImages = `/images/json?filters=${encodeURIComponent('{"reference":["azp-fleet/agent"]}')}`;

/**
 * Queries the engine over its socket, only while dockerd is running: a connection would start a socket-activated one. The
 * docker command uses more CPU than the whole script may, so curl sends the request, or perl, which is essential on Debian and
 * Ubuntu.
 */
export const dockerProbe: FactProbe<EngineFacts> = {
  name: 'docker',
  timeoutS: 8,
  script: ({ root }) => `
ask() {
  if command -v curl >/dev/null; then
    curl -s -m 6 --unix-socket /run/docker.sock http://docker/info http://docker/containers/json \
      'http://docker${agentImages}'
  else
    perl -MSocket -e '
      alarm 6;
      for my $path (qw(/info /containers/json ${agentImages})) {
        socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un("/run/docker.sock")) or exit 1;
        syswrite(S, "GET $path HTTP/1.0\\r\\nHost: docker\\r\\n\\r\\n");
        local $/; $_ = <S>; s/.*?\\r\\n\\r\\n//s; print;
      }'
  fi
}
pid=
if [ -r /run/docker.pid ]; then read -r pid </run/docker.pid || :; fi
if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then
  echo active
  # Each answer is one line of JSON.
  ask | awk '/^\\{/ { print "info " $0 } /^\\[/ { print (lists++ == 0 ? "containers " : "images ") $0 }'
fi
if [ -e /etc/systemd/system/multi-user.target.wants/docker.service ]; then echo enabled; fi
# To the nanosecond: a start and what comes after it may share their second.
stat -c 'time %n %.9Y %.9Z' /run/docker.pid /etc/docker/daemon.json \\
  /usr/bin/nvidia-container-runtime-hook /usr/bin/nvidia-cdi-hook \
  ${sh`${packageManagers.map(({ trust }) => trust.file)}`} 2>/dev/null
for entry in /snap/docker/current /var/lib/snapd/snaps/docker_*.snap; do
  if [ -e "$entry" ]; then echo snap; fi
done
stat -c 'toolkit-time %.9Z' /usr/bin/nvidia-ctk 2>/dev/null
if command -v nvidia-ctk >/dev/null; then echo toolkit-there; fi
# What is in /run wins over /etc.
found=
for spec in /var/run/cdi/*.yaml /var/run/cdi/*.json /etc/cdi/*.yaml /etc/cdi/*.json; do
  [ -r "$spec" ] || continue
  ${sh`grep -Eq ${describesGpus}`} "$spec" || continue
  case $spec in
    /etc/*)
      echo "cdi-etc $spec"
      [ -z "$found" ] || continue ;;
    *)
      found=there
      echo cdi-run ;;
  esac
  echo cdi-spec
  stat -c 'cdi-time %.9Y' "$spec"
  ${sh`if grep -q ${cdiLibraries.graphics} "$spec"; then echo 'cdi-use graphics'; fi
  if grep -q ${cdiLibraries.video} "$spec"; then echo 'cdi-use video'; fi`}
  grep -o 'nvidia-caps/nvidia-cap[0-9]*' "$spec" | sort -u | sed 's/.*cap/cdi-mig /'
  sed -n '/libcuda\\.so\\.[0-9][0-9]*\\.[0-9]/{s/.*libcuda\\.so\\.\\([0-9.]*[0-9]\\).*/cdi-driver \\1/p;q;}' "$spec"
done
${sh`capabilities=${`${root.prefix}/proc/driver/nvidia/capabilities`}`}
# A GPU instance without a compute instance is no device that could be described.
for access in "$capabilities"/gpu*/mig/gi*/ci*/access; do
  if [ -r "$access" ]; then sed -n 's/^DeviceFileMinor: */mig /p' "\${access%/ci*}/access" "$access"; fi
done
:`,
  parse: ({ stdout }) => {
    const lines = new KeyedLines(stdout);
    const info = infoShape.safeParse(foreignJson(lines.first('info') ?? '')).data;
    return {
      active: lines.has('active'),
      enabled: lines.has('enabled'),
      serverVersion: info?.ServerVersion,
      cgroupDriver: info?.CgroupDriver,
      runtimes: Object.keys(info?.Runtimes ?? {}).sort(),
      rootDir: info?.DockerRootDir ?? '/var/lib/docker',
      liveRestore: info?.LiveRestoreEnabled === true,
      swarm: info?.Swarm?.LocalNodeState !== undefined && info.Swarm.LocalNodeState !== 'inactive',
      snap: lines.has('snap'),
      restartNeeded: lines.has('active') && restartNeeded(lines.all('time')),
      images: imageNames(foreignJson(lines.first('images') ?? '')),
      foreign: foreignContainers(foreignJson(lines.first('containers') ?? '')),
      toolkitThere: lines.has('toolkit-there'),
      toolkitCdi: {
        cdiSpec: lines.has('cdi-spec'),
        cdiDriver: lines.first('cdi-driver'),
        cdiUses: (['graphics', 'video'] as const).filter((use) => lines.all('cdi-use').includes(use)),
        cdiMigDiffers: lines.has('cdi-spec') && migDiffers(lines),
        cdiInEtc: lines.all('cdi-etc'),
        cdiInRun: lines.has('cdi-run'),
        cdiOlder: cdiOlder(lines),
      },
    };
  },
};

/** A string, or undefined for another type: an invalid member does not invalidate the others. */
const name = z.string().min(1).optional().catch(undefined);
const infoShape = z.object({
  ServerVersion: name,
  CgroupDriver: name,
  Runtimes: z.record(z.string(), z.unknown()).optional().catch(undefined),
  DockerRootDir: name,
  LiveRestoreEnabled: z.boolean().optional().catch(undefined),
  Swarm: z.object({ LocalNodeState: name }).optional().catch(undefined),
});

const containerShape = z.object({
  Id: name,
  Names: z.array(z.string()).optional().catch(undefined),
  Labels: z.record(z.string(), z.unknown()).nullish().catch(undefined),
});

const imageShape = z.object({ RepoTags: z.array(z.string()).nullish().catch(undefined) });

/**
 * Returns whether a file that dockerd reads at its start (NVIDIA helpers, configuration, certificate authorities) is newer than
 * its pid file. Packages keep the build time as mtime, so only the ctime shows an installation.
 */
function restartNeeded(times: readonly string[]): boolean {
  const files = times.map((line) => line.split(' '));
  const started = Number(files.find(([name]) => name === '/run/docker.pid')?.[1] ?? Number.POSITIVE_INFINITY);
  return files.some(([name, , changed]) => name !== '/run/docker.pid' && Number(changed) > started);
}

/**
 * Returns whether the specification's MIG instances differ from the present ones: it is not rewritten when they change.
 * Instances are compared by the minor numbers of their capabilities; 1 and 2 belong to MIG itself.
 */
function migDiffers(lines: KeyedLines): boolean {
  const [present, described] = ['mig', 'cdi-mig'].map((key) =>
    [...new Set(lines.all(key))].filter((minor) => !['1', '2'].includes(minor)).toSorted(),
  );
  return present?.join(' ') !== described?.join(' ');
}

/** Returns whether all specifications are older than the toolkit, by its ctime. */
function cdiOlder(lines: KeyedLines): boolean {
  const made = lines.all('cdi-time').map(Number);
  const installed = Number(lines.first('toolkit-time') ?? 0);
  return made.length > 0 && made.every((each) => each < installed);
}

function imageNames(list: unknown): readonly string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry) => imageShape.safeParse(entry).data?.RepoTags ?? []).sort();
}

function foreignContainers(list: unknown): readonly string[] {
  if (!Array.isArray(list)) return [];
  return list
    .flatMap((entry) => containerShape.safeParse(entry).data ?? [])
    .filter(({ Labels: labels }) => !isOurKind(labels?.[Labels.kind]))
    .map(({ Id, Names }) => Names?.[0]?.replace(/^\//, '') ?? Id?.slice(0, 12) ?? '')
    .sort();
}
