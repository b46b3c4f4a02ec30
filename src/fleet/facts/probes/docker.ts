import * as z from 'zod';

import { foreignJson } from '../../../shared/base/foreign-text.ts';
import { sh } from '../../../shared/base/shell.ts';
import { cdiLibraries, describesGpus } from '../../../shared/contract/gpus.ts';
import { isOurKind, Labels } from '../../../shared/contract/paths.ts';
import { packageManagers } from '../../packages/distribution.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

/** The engine as its files and processes show it. */
export type EngineFacts = Pick<Facts['docker'], 'active' | 'enabled' | 'snap' | 'restartNeeded'> & {
  readonly toolkitCdi: Omit<Facts['toolkit'], 'version' | 'unpackaged'>;
  /** A toolkit exists, from a package or not. */
  readonly toolkitThere: boolean;
};

/** The engine as it describes itself. */
export type EngineInfo = Pick<
  Facts['docker'],
  | 'serverVersion'
  | 'cgroupDriver'
  | 'runtimes'
  | 'rootDir'
  | 'storageDriver'
  | 'byContainerd'
  | 'liveRestore'
  | 'swarm'
>;

/** The engine's running containers. */
export interface EngineContainers {
  /** Full ids of all. */
  readonly ids: readonly string[];
  /** Names of those of others. */
  readonly foreign: readonly string[];
}

/** Shell text: continues only while dockerd is running. */
const runs = `pid=
if [ -r /run/docker.pid ]; then read -r pid </run/docker.pid || :; fi
if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then`;

/**
 * A query to the engine over its socket, only while dockerd is running: a connection would start a socket-activated one. The docker
 * command uses more CPU than the whole script may, and curl four times as much as perl without modules, which is essential on
 * Debian and Ubuntu: on Linux AF_UNIX and SOCK_STREAM are 1.
 */
function query(path: string): Pick<FactProbe<unknown>, 'byHand' | 'script'> {
  const url = sh`${`http://docker${path}`}`;
  return {
    byHand: `sudo curl --unix-socket /run/docker.sock ${url}`,
    script: () => `${runs}
  if command -v perl >/dev/null; then
    perl -e '
      socket(S, 1, 1, 0) && connect(S, pack("Sa108", 1, "/run/docker.sock")) or die "$!\\n";
      syswrite(S, "GET ${path} HTTP/1.0\\r\\nHost: docker\\r\\n\\r\\n");
      local $/; $_ = <S>; s/^HTTP\\S+ 200.*?\\r\\n\\r\\n//s or die substr($_, 0, 80) . "\\n"; print;' || exit
  else
    curl -sSf --unix-socket /run/docker.sock ${url} || exit
  fi
fi`,
  };
}

/** Reads what the engine says about itself; nothing while it is not running. */
export const dockerInfoProbe: FactProbe<EngineInfo> = {
  name: 'docker-info',
  facts: ['docker'],
  ...query('/info'),
  meaning: {
    what: 'dockerd is running and does not answer on its socket',
    next: 'check journalctl -u docker.service; if no container is needed any more: sudo systemctl restart docker',
  },
  line: /^\{/,
  parse: (output) => {
    const info = output.trim() === '' ? undefined : infoShape.parse(foreignJson(output));
    return {
      serverVersion: info?.ServerVersion,
      cgroupDriver: info?.CgroupDriver,
      runtimes: Object.keys(info?.Runtimes ?? {}).sort(),
      rootDir: info?.DockerRootDir ?? '/var/lib/docker',
      storageDriver: info?.Driver,
      byContainerd: JSON.stringify(info?.DriverStatus ?? null).includes('io.containerd.snapshotter'),
      liveRestore: info?.LiveRestoreEnabled === true,
      swarm: info?.Swarm?.LocalNodeState !== undefined && info.Swarm.LocalNodeState !== 'inactive',
    };
  },
};

/** Reads the engine's running containers. */
export const dockerContainersProbe: FactProbe<EngineContainers> = {
  name: 'docker-containers',
  facts: ['others'],
  ...query('/containers/json'),
  line: /^\[/,
  parse: (output) => {
    const all = output.trim() === '' ? [] : z.array(containerShape).parse(foreignJson(output));
    return {
      ids: all.map(({ Id }) => Id),
      foreign: all
        .filter(({ Labels: labels }) => !isOurKind(labels?.[Labels.kind]))
        .map(({ Id, Names }) => Names?.[0]?.replace(/^\//, '') ?? Id.slice(0, 12))
        .sort(),
    };
  },
};

/** Reads the agents' images of the engine. A machine may have thousands of others. */
export const dockerImagesProbe: FactProbe<Facts['docker']['images']> = {
  name: 'docker-images',
  facts: ['docker'],
  ...query(`/images/json?filters=${encodeURIComponent('{"reference":["azp-fleet/agent"]}')}`),
  line: /^\[/,
  parse: (output) => {
    const all = output.trim() === '' ? [] : z.array(imageShape).parse(foreignJson(output));
    return all.flatMap(({ RepoTags }) => RepoTags ?? []).sort();
  },
};

const pidFile = '/run/docker.pid';
const toolkit = '/usr/bin/nvidia-ctk';

/** Files that dockerd reads at its start. */
const readAtStart: readonly string[] = [
  '/etc/docker/daemon.json',
  '/usr/bin/nvidia-container-runtime-hook',
  '/usr/bin/nvidia-cdi-hook',
  ...packageManagers.map(({ trust }) => trust.file),
];

/** Reads the engine's and the toolkit's files. */
export const dockerProbe: FactProbe<EngineFacts> = {
  name: 'docker',
  facts: ['docker', 'toolkit'],
  byHand: 'systemctl status docker.service; ls -l /run/docker.pid /etc/cdi /run/cdi',
  script: ({ root }) => `${runs} echo active; fi
if [ -e /etc/systemd/system/multi-user.target.wants/docker.service ]; then echo enabled; fi
set --
for spec in /var/run/cdi/*.yaml /var/run/cdi/*.json /etc/cdi/*.yaml /etc/cdi/*.json; do
  if [ -f "$spec" ]; then set -- "$@" "$spec"; fi
done
# To the nanosecond: a start and what comes after it may share their second.
stat -c 'time %.9Y %.9Z %n' ${sh`${[pidFile, ...readAtStart, toolkit]}`} "$@" 2>/dev/null
for entry in /snap/docker/current /var/lib/snapd/snaps/docker_*.snap; do
  if [ -e "$entry" ]; then echo snap; fi
done
if command -v nvidia-ctk >/dev/null; then echo toolkit-there; fi
# What is in /run wins over /etc.
if [ "$#" -gt 0 ]; then
  ${sh`gpus=${describesGpus} graphics=${cdiLibraries.graphics} video=${cdiLibraries.video}`} awk '
    function describe() {
      if (!described) return
      if (index(path, "/etc/") == 1) { print "cdi-etc " path; if (found) return }
      else { print "cdi-run"; found = 1 }
      printf "cdi-spec %s\\n%s", path, contents
    }
    function add(line) { contents = contents line "\\n" }
    FNR == 1 { describe(); path = FILENAME; described = 0; driver = ""; contents = "" }
    $0 ~ ENVIRON["gpus"] { described = 1 }
    $0 ~ ENVIRON["graphics"] { add("cdi-use graphics") }
    $0 ~ ENVIRON["video"] { add("cdi-use video") }
    driver == "" && match($0, /libcuda[.]so[.][0-9]+([.][0-9]+)+/) {
      driver = substr($0, RSTART + 11, RLENGTH - 11)
      add("cdi-driver " driver)
    }
    { while (match($0, /nvidia-caps\\/nvidia-cap[0-9]*/)) {
        add("cdi-mig " substr($0, RSTART + 22, RLENGTH - 22))
        $0 = substr($0, RSTART + RLENGTH)
      } }
    END { describe() }' "$@" || exit
fi
${sh`capabilities=${`${root.prefix}/proc/driver/nvidia/capabilities`}`}
set --
# A GPU instance without a compute instance is no device that could be described.
for access in "$capabilities"/gpu*/mig/gi*/ci*/access; do
  if [ -r "$access" ]; then set -- "$@" "\${access%/ci*}/access" "$access"; fi
done
if [ "$#" -gt 0 ]; then sed -n 's/^DeviceFileMinor: */mig /p' "$@"; fi
:`,
  line: /^(active|enabled|snap|toolkit-there|cdi-run)$|^(time|cdi-etc|cdi-spec|cdi-use|cdi-mig|cdi-driver|mig) /,
  parse: (output) => {
    const lines = new KeyedLines(output);
    const times = lines.all('time').map(fileTime);
    return {
      active: lines.has('active'),
      enabled: lines.has('enabled'),
      snap: lines.has('snap'),
      restartNeeded: lines.has('active') && restartNeeded(times),
      toolkitThere: lines.has('toolkit-there'),
      toolkitCdi: {
        cdiSpec: lines.has('cdi-spec'),
        cdiDriver: lines.first('cdi-driver'),
        cdiUses: (['graphics', 'video'] as const).filter((use) => lines.all('cdi-use').includes(use)),
        cdiMigDiffers: lines.has('cdi-spec') && migDiffers(lines),
        cdiInEtc: lines.all('cdi-etc'),
        cdiInRun: lines.has('cdi-run'),
        cdiOlder: cdiOlder(lines, times),
      },
    };
  },
};

/** A string, or undefined for another type: an invalid member does not invalidate the others. */
const name = z.string().min(1).optional().catch(undefined);
const infoShape = z.object({
  ServerVersion: z.string().min(1),
  CgroupDriver: name,
  Runtimes: z.record(z.string(), z.unknown()).optional().catch(undefined),
  DockerRootDir: name,
  Driver: name,
  DriverStatus: z.unknown().optional(),
  LiveRestoreEnabled: z.boolean().optional().catch(undefined),
  Swarm: z.object({ LocalNodeState: name }).optional().catch(undefined),
});

const containerShape = z.object({
  Id: z.string().min(1),
  Names: z.array(z.string()).optional().catch(undefined),
  Labels: z.record(z.string(), z.unknown()).nullish().catch(undefined),
});

const imageShape = z.object({ RepoTags: z.array(z.string()).nullish().catch(undefined) });

interface FileTime {
  readonly path: string;
  /** Seconds since 1970. */
  readonly modified: number;
  readonly changed: number;
}

function fileTime(line: string): FileTime {
  const [, modified, changed, path = ''] = /^(\S+) (\S+) (.*)$/.exec(line) ?? [];
  return { path, modified: Number(modified), changed: Number(changed) };
}

/**
 * Returns whether a file that dockerd reads at its start (NVIDIA helpers, configuration, certificate authorities) is newer than
 * its pid file. Packages keep the build time as mtime, so only the ctime shows an installation.
 */
function restartNeeded(times: readonly FileTime[]): boolean {
  const started = times.find(({ path }) => path === pidFile)?.modified ?? Number.POSITIVE_INFINITY;
  return times.some(({ path, changed }) => readAtStart.includes(path) && changed > started);
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
function cdiOlder(lines: KeyedLines, times: readonly FileTime[]): boolean {
  const of = (path: string): FileTime | undefined => times.find((each) => each.path === path);
  const made = lines.all('cdi-spec').map((path) => of(path)?.modified ?? Number.POSITIVE_INFINITY);
  const installed = of(toolkit)?.changed ?? 0;
  return made.length > 0 && made.every((each) => each < installed);
}
