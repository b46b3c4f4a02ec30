import type { Facts } from '../../facts/facts.ts';
import { asideOf } from '../../facts/probes/ours.ts';
import { type Platform, platformOf, unsupported } from '../../packages/distribution.ts';
import { type Change, later, refusal, runChange } from '../change.ts';
import { describeDaemonJson } from '../description.ts';
import { reloadDisturbs, restartDisturbs } from '../disturbance.ts';
import { isRelease, renderDaemonJson, sameConfig, usesCdi, withGpuSettings } from '../docker/daemon-json.ts';
import { configFolder, configScript, restartScript } from '../docker/scripts.ts';
import { changedKeys, engineConfig } from '../docker/step.ts';
import { usesOf } from '../driver/uses.ts';
import { isDesiredDriver } from '../driver/compatibility.ts';
import {
  withInstalledVersions,
  isVendorStack,
  keepsVendorEngine,
  missingVendorPart,
} from '../vendor-stack.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import { addSource, holdPackages } from '../packages/repositories.ts';
import type { Desired, Planned, Step } from '../step.ts';
import { cdiFolder, cdiScript } from './cdi.ts';
import { replacedByToolkit, toolkitPackages } from '../packages/parts.ts';

/** Installs the desired version of the NVIDIA Container Toolkit, configures Docker for it, and writes its CDI specification. */
export const toolkitStep: Step = {
  name: 'toolkit',
  *plan(facts, configured) {
    if (facts.gpus.length === 0) return;
    const desired = withInstalledVersions(facts, configured);
    if (desired.host.toolkit.left === true) {
      const found = unmanagedToolkitObstacle(facts, isDesiredDriver(facts, desired.host));
      if (found !== undefined) yield refusal('toolkit', found.what, found.next);
      return;
    }
    const platform = platformOf(facts);
    if (platform === undefined) {
      const { what, next } = unsupported(facts);
      yield refusal('toolkit', what, next);
      return;
    }
    if (isVendorStack(facts)) {
      if (facts.toolkit.version === undefined) {
        const { what, next } = missingVendorPart('NVIDIA Container Toolkit');
        yield refusal('toolkit', what, next);
        return;
      }
      yield* configuration(facts, desired, false);
      yield* specification(facts, desired, false);
      return;
    }
    const host = { platform, facts, desired };
    yield* addSource('toolkit', 'NVIDIA Container Toolkit', 'nvidia-container-toolkit', host);
    const install = installation(platform, facts, desired);
    if (install !== undefined) yield install;
    else yield* holdPackages('toolkit', 'NVIDIA Container Toolkit packages', host, toolkitPackages);
    yield* configuration(facts, desired, install !== undefined);
    yield* specification(facts, desired, install !== undefined);
  },
};

function installation(platform: Platform, facts: Facts, desired: Desired): PackageChange | undefined {
  const { version } = desired.host.toolkit;
  if (toolkitPackages.every((name) => isRelease(facts.packages[name], version))) return undefined;
  const seen = facts.toolkit.version;
  return packageChange({
    step: 'toolkit',
    name: 'install',
    platform,
    recorded: partRecord('toolkit', facts, platform),
    subject: { what: 'NVIDIA Container Toolkit', from: seen, to: version },
    why:
      seen === undefined
        ? 'NVIDIA Container Toolkit is not installed'
        : `${seen} is installed, or only a part of it`,
    disturbs: seen === undefined ? reloadDisturbs(facts) : 'containers',
    request: {
      what: `NVIDIA Container Toolkit ${version}`,
      key: 'toolkit.version',
    },
    timeoutS: 1800,
    transaction: {
      vendor: 'nvidia-container-toolkit',
      packages: toolkitPackages.map((name) => ({ name, version: { release: version } })),
      remove: [],
      mayRemove: replacedByToolkit,
      proxy: desired.proxy,
    },
  });
}

/** Configures and restarts dockerd, which finds the toolkit's programs and reads daemon.json only when it starts. */
function* configuration(facts: Facts, desired: Desired, installing: boolean): Generator<Planned> {
  if (desired.host.docker.left === true) {
    // The owner configures dockerd. It still needs a restart to find the toolkit.
    if (installing || facts.docker.restartNeeded) yield restart(facts);
    return;
  }
  const { to: from } = engineConfig(facts, desired);
  const to = withGpuSettings(from, desired.host.docker.version);
  const differs = !sameConfig(from, to);
  const stale = installing || facts.docker.restartNeeded || !facts.docker.runtimes.includes('nvidia');
  if (!differs && !stale) return;
  const before = textBefore(facts, desired);
  const configure = runChange(
    'toolkit',
    'configure-docker',
    {
      title: differs
        ? `restart Docker Engine with ${changedKeys(from, to).join(', ')}`
        : 'restart Docker Engine for the NVIDIA Container Toolkit',
      why: differs
        ? 'daemon.json lacks them'
        : 'dockerd was started before the toolkit was installed or configured',
      disturbs: restartDisturbs(facts),
      marker: 'change',
      ...(differs ? describeDaemonJson(before, renderDaemonJson(to)) : {}),
    },
    {
      script: configScript({ from: before, to: renderDaemonJson(to), restart: true }),
      timeoutS: 300,
      writes: [configFolder],
    },
  );
  // The settings for CDI depend on the engine's version, which is unknown until the distribution's engine is installed.
  yield keepsVendorEngine(facts) && facts.docker.serverVersion === undefined
    ? later({ ...configure, title: 'restart Docker Engine with its settings for GPUs' }, 'docker')
    : configure;
}

function restart(facts: Facts): Change {
  return runChange(
    'toolkit',
    'restart-docker',
    {
      title: 'restart Docker Engine for the NVIDIA Container Toolkit',
      why: 'dockerd was started before the toolkit was installed',
      disturbs: restartDisturbs(facts),
      marker: 'change',
    },
    { script: restartScript, timeoutS: 300 },
  );
}

/** Returns the text of daemon.json after the docker step. */
function textBefore(facts: Facts, desired: Desired): string | undefined {
  const { from, to } = engineConfig(facts, desired);
  return sameConfig(from, to) ? facts.docker.daemonJson : renderDaemonJson(to);
}

/** Writes the CDI specification where it is missing or outdated: an old one names libraries of the previous driver. */
function* specification(facts: Facts, desired: Desired, installing: boolean): Generator<Change> {
  if (!usesCdi(desired.host.docker.version)) return;
  const { cdiSpec, cdiDriver, cdiUses, cdiOlder, cdiMigDiffers, cdiInEtc, cdiInRun } = facts.toolkit;
  const { loaded } = facts.driver;
  const stale = cdiDriver !== undefined && cdiDriver !== loaded;
  const lacks = usesOf(desired.host).filter((use) => !cdiUses.includes(use));
  const hidden = cdiInRun && cdiInEtc.length > 0;
  const outdated = installing || cdiOlder || cdiMigDiffers || hidden || lacks.length > 0;
  if (cdiSpec && !stale && !outdated && isDesiredDriver(facts, desired.host)) return;
  yield runChange(
    'toolkit',
    'cdi',
    {
      title: 'write the CDI specification',
      why: whySpecification(facts, lacks),
      disturbs: 'new-containers',
      details: cdiInEtc.map((path) => ({
        marker: 'change',
        text: `${path}: set aside as ${asideOf(path)}`,
        effect: 'if /run has a specification, which has precedence',
      })),
    },
    { script: cdiScript(cdiInEtc, usesOf(desired.host)), timeoutS: 120, writes: [cdiFolder] },
  );
}

function whySpecification({ driver, toolkit }: Facts, lacks: readonly string[]): string {
  if (!toolkit.cdiSpec) return 'no file describes nvidia.com/gpu';
  if (toolkit.cdiDriver === undefined || toolkit.cdiDriver === driver.loaded) {
    if (toolkit.cdiMigDiffers) return 'the specification does not match the present MIG instances';
    const hidden = toolkit.cdiInRun && toolkit.cdiInEtc.length > 0;
    if (hidden) return 'a second file describes the GPUs';
    if (lacks.length > 0)
      return `agents may use ${lacks.join(' and ')}, and the specification lacks the libraries`;
    return 'driver or toolkit is new';
  }
  return `the specification is for driver ${toolkit.cdiDriver}, and ${driver.loaded ?? 'none'} is loaded`;
}

/**
 * Returns why containers get no GPUs with the owner's toolkit (`toolkit: none`). `driverStays`: the driver will not change; the
 * specification would change with it.
 */
function unmanagedToolkitObstacle(
  facts: Facts,
  driverStays: boolean,
): { readonly what: string; readonly next: string } | undefined {
  const { version, unpackaged, cdiDriver } = facts.toolkit;
  const { loaded } = facts.driver;
  if (version === undefined && !unpackaged) {
    return {
      what: 'toolkit: none, and no NVIDIA Container Toolkit is installed',
      next: 'install it by hand, or remove "toolkit: none" from the inventory',
    };
  }
  if (cdiDriver === undefined || cdiDriver === loaded || !driverStays) return undefined;
  return {
    what: `the CDI specification is for driver ${cdiDriver}, and ${loaded ?? 'none'} is loaded`,
    next: 'sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml, or remove "toolkit: none" from the inventory',
  };
}
