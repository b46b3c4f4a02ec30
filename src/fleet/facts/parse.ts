import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { upstream } from '../packages/version.ts';
import type { Frame } from '../ssh/session/frames.ts';
import type { Facts } from './facts.ts';
import type { FactProbe } from './probe.ts';
import { changesProbe } from './probes/changes.ts';
import { diskProbe } from './probes/disk.ts';
import { dockerProbe } from './probes/docker.ts';
import { driverProbe } from './probes/driver.ts';
import { daemonJsonProbe, filesProbe, managerStatusProbe, siteCaProbe } from './probes/files.ts';
import { hostLockProbe } from './probes/host-lock.ts';
import { gpusProbe } from './probes/gpus.ts';
import { kernelsProbe } from './probes/kernels.ts';
import { machineProbe, osProbe } from './probes/machine.ts';
import { managerProbe } from './probes/manager.ts';
import { othersProbe } from './probes/others.ts';
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
  daemonJsonProbe,
  filesProbe,
  siteCaProbe,
  managerProbe,
  managerStatusProbe,
  diskProbe,
  othersProbe,
  oursProbe,
  daemonJsonBeforeProbe,
  oursCdiProbe,
  oursSourcesProbe,
  oursPackagesProbe,
  changesProbe,
  packageLockProbe,
  hostLockProbe,
] as const satisfies readonly FactProbe<unknown>[];

/** @throws FleetError `facts.unreadable` when not even the system or the machine could be read. */
export function parseFacts(frames: ReadonlyMap<string, Frame>): Facts {
  const read = <T>(probe: FactProbe<T>): T => probe.parse(frames.get(probe.name) ?? missing);
  const { foreign, toolkitCdi, toolkitThere, ...engine } = read(dockerProbe);
  const { packages, unfinished, held, awaitsReboot } = merged(packagesProbes.map(read));
  const machine = read(machineProbe);
  const toolkit = packages['nvidia-container-toolkit'];
  const { runfileVersion, ...driver } = read(driverProbe);
  const facts: Facts = {
    os: read(osProbe),
    ...machine,
    rebootRequired: machine.rebootRequired || awaitsReboot,
    ...read(gpusProbe),
    ignoredGpus: [],
    ...read(kernelsProbe),
    driver: { ...driver, userspace: userspaceVersion(packages) ?? runfileVersion },
    docker: { ...engine, daemonJson: read(daemonJsonProbe), podman: packages['podman'] !== undefined },
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
    others: { ...read(othersProbe), containers: foreign },
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
  for (const probe of [osProbe, machineProbe]) requireFrame(probe.name, frames.get(probe.name));
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

const missing: Frame = { code: 127, stdout: '', stderr: '', durationMs: 0, timedOut: false };

function requireFrame(name: string, frame: Frame | undefined): void {
  if (frame !== undefined && frame.stdout !== '' && !frame.timedOut) return;
  throw new FleetError({
    code: 'facts.unreadable',
    step: 'facts',
    what: `the host's ${name} facts could not be read`,
    expected: 'a Linux system with /etc/os-release, /proc and a POSIX shell',
    seen: frame === undefined ? 'no answer' : frame.timedOut ? 'no answer in time' : frame.stderr.trim(),
    next: 'log in and check /etc/os-release; azp-fleet manages only Linux hosts with systemd',
  });
}
