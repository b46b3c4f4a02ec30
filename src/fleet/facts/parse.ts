import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { upstream } from '../packages/version.ts';
import type { Frame } from '../ssh/session/frames.ts';
import type { Facts, UnknownFact } from './facts.ts';
import { type FactProbe, readingOf } from './probe.ts';
import { changesProbe } from './probes/changes.ts';
import { diskProbe } from './probes/disk.ts';
import { dockerContainersProbe, dockerImagesProbe, dockerInfoProbe, dockerProbe } from './probes/docker.ts';
import { driverProbe } from './probes/driver.ts';
import { daemonJsonProbe, filesProbe, managerStatusProbe, siteCaProbe } from './probes/files.ts';
import { hostLockProbe } from './probes/host-lock.ts';
import { gpusProbe } from './probes/gpus.ts';
import { kernelsProbe } from './probes/kernels.ts';
import { machineProbe, osProbe } from './probes/machine.ts';
import { managerProbe } from './probes/manager.ts';
import { orchestratorsProbe } from './probes/orchestrators.ts';
import { namedGpuProcesses, othersProbe } from './probes/others.ts';
import { packageLockProbe, packagesProbes, merged, userspaceVersion } from './probes/packages.ts';
import {
  daemonJsonBeforeProbe,
  oursCdiProbe,
  oursPackagesProbe,
  oursProbe,
  oursSourcesProbe,
} from './probes/ours.ts';

/** All probes, in the order in which they run. */
export const probes = [
  osProbe,
  machineProbe,
  gpusProbe,
  kernelsProbe,
  driverProbe,
  ...packagesProbes,
  dockerProbe,
  dockerInfoProbe,
  dockerContainersProbe,
  dockerImagesProbe,
  daemonJsonProbe,
  filesProbe,
  siteCaProbe,
  managerProbe,
  managerStatusProbe,
  diskProbe,
  othersProbe,
  orchestratorsProbe,
  oursProbe,
  daemonJsonBeforeProbe,
  oursCdiProbe,
  oursSourcesProbe,
  oursPackagesProbe,
  changesProbe,
  packageLockProbe,
  hostLockProbe,
] as const satisfies readonly FactProbe<unknown>[];

/**
 * Parses the answers of the probes; `unknown` lists those without a usable one, whose facts are as if nothing were there.
 * @throws FleetError `facts.unreadable` when not even the system or the machine could be read.
 */
export function parseFacts(frames: ReadonlyMap<string, Frame>): Facts {
  const unknown: UnknownFact[] = [];
  const read = <T>(probe: FactProbe<T>): T => {
    const reading = readingOf(probe, frames.get(probe.name));
    if (reading.kind === 'value') return reading.value;
    if (required.has(probe.name)) throw unreadable(probe.name, reading.why);
    unknown.push({ fact: probe.name, why: reading.why });
    return probe.parse('');
  };
  const os = read(osProbe);
  const { toolkitCdi, toolkitThere, ...engine } = read(dockerProbe);
  const containers = read(dockerContainersProbe);
  const { logins, gpuProcesses } = read(othersProbe);
  const { elsewhere, screens, ...nodes } = read(orchestratorsProbe);
  const { packages, unfinished, held, awaitsReboot } = merged(packagesProbes.map(read));
  const machine = read(machineProbe);
  const toolkit = packages['nvidia-container-toolkit'];
  const { runfileVersion, ...driver } = read(driverProbe);
  const facts: Facts = {
    unknown,
    os,
    ...machine,
    rebootRequired: machine.rebootRequired || awaitsReboot,
    ...read(gpusProbe),
    ignoredGpus: [],
    ...read(kernelsProbe),
    driver: { ...driver, userspace: userspaceVersion(packages) ?? runfileVersion },
    docker: {
      ...engine,
      ...read(dockerInfoProbe),
      images: read(dockerImagesProbe),
      daemonJson: read(daemonJsonProbe),
      podman: packages['podman'] !== undefined,
    },
    toolkit: {
      version: toolkit === undefined ? undefined : upstream(toolkit),
      unpackaged: toolkit === undefined && toolkitThere,
      ...toolkitCdi,
    },
    packages,
    unfinished,
    held,
    ...read(filesProbe),
    siteCaTrusted: read(siteCaProbe),
    manager: { ...read(managerProbe), ...read(managerStatusProbe) },
    ...read(diskProbe),
    ...nodes,
    others: {
      logins: [...logins, ...screens],
      elsewhere,
      gpuProcesses: namedGpuProcesses(gpuProcesses, containers.ids),
      containers: containers.foreign,
    },
    ours: {
      ...read(oursProbe),
      daemonJsonBefore: read(daemonJsonBeforeProbe),
      cdi: read(oursCdiProbe),
      sources: read(oursSourcesProbe),
      packages: read(oursPackagesProbe),
    },
    changes: read(changesProbe),
    packageLock: read(packageLockProbe),
    hostLock: read(hostLockProbe),
  };
  // Names and titles are used in messages and scripts. Texts of files stay unchanged for parsing.
  const clean = foreignValue(facts, (text) => foreignLine(text));
  const { texts } = facts;
  const { daemonJson } = facts.docker;
  const { daemonJsonBefore } = facts.ours;
  return {
    ...clean,
    texts,
    docker: { ...clean.docker, daemonJson },
    ours: { ...clean.ours, daemonJsonBefore },
  };
}

/** Without these nothing can be said about a host. */
const required: ReadonlySet<string> = new Set([osProbe.name, machineProbe.name]);

function unreadable(name: string, why: string): FleetError {
  return new FleetError({
    code: 'facts.unreadable',
    step: 'facts',
    what: `the host's ${name} facts could not be read`,
    expected: 'a Linux system with /etc/os-release, /proc and a POSIX shell',
    seen: why,
    next: 'log in and check /etc/os-release; azp-fleet manages only Linux hosts with systemd',
  });
}
