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

/** The NVIDIA Container Toolkit at exactly the wanted version, known to Docker, with a current CDI specification. */
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
    why: seen === undefined ? 'it is not installed' : `${seen} is installed, or only a part of it`,
    disturbs: seen === undefined ? reloadDisturbs(facts) : 'containers',
    wish: {
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

/** dockerd looks for the toolkit's programs and reads its configuration only when it starts. */
function* configuration(facts: Facts, desired: Desired, installing: boolean): Generator<Planned> {
  if (desired.host.docker.left === true) {
    // Its owner configures it. That it finds the toolkit takes a restart all the same.
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
        : 'it was started before the toolkit or its configuration was there',
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
  // What it has to be told of CDI depends on its version, which is the system's.
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
      why: 'it was started before the toolkit was there',
      disturbs: restartDisturbs(facts),
      marker: 'change',
    },
    { script: restartScript, timeoutS: 300 },
  );
}

/** The text of daemon.json once the docker step has done its part. */
function textBefore(facts: Facts, desired: Desired): string | undefined {
  const { from, to } = engineConfig(facts, desired);
  return sameConfig(from, to) ? facts.docker.daemonJson : renderDaemonJson(to);
}

/** An old specification names libraries of the driver before, and resolves happily. */
function* specification(facts: Facts, desired: Desired, installing: boolean): Generator<Change> {
  if (!usesCdi(desired.host.docker.version)) return;
  const { cdiSpec, cdiDriver, cdiUses, cdiOlder, cdiMigDiffers, cdiInEtc, cdiInRun } = facts.toolkit;
  const { loaded } = facts.driver;
  const stale = cdiDriver !== undefined && cdiDriver !== loaded;
  const lacks = usesOf(desired.host).filter((use) => !cdiUses.includes(use));
  const hidden = cdiInRun && cdiInEtc.length > 0;
  const news = installing || cdiOlder || cdiMigDiffers || hidden || lacks.length > 0;
  if (cdiSpec && !stale && !news && isDesiredDriver(facts, desired.host)) return;
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
        effect: 'where /run has a specification, which wins over it',
      })),
    },
    { script: cdiScript(cdiInEtc, usesOf(desired.host)), timeoutS: 120, writes: [cdiFolder] },
  );
}

function whySpecification({ driver, toolkit }: Facts, lacks: readonly string[]): string {
  if (!toolkit.cdiSpec) return 'no file describes nvidia.com/gpu';
  if (toolkit.cdiDriver === undefined || toolkit.cdiDriver === driver.loaded) {
    if (toolkit.cdiMigDiffers) return 'it does not describe the present MIG instances';
    const hidden = toolkit.cdiInRun && toolkit.cdiInEtc.length > 0;
    if (hidden) return 'a second file describes the GPUs';
    if (lacks.length > 0) return `agents may use ${lacks.join(' and ')}, and it has no library for that`;
    return 'driver or toolkit are new';
  }
  return `it was made for driver ${toolkit.cdiDriver}, and ${driver.loaded ?? 'none'} is loaded`;
}

/**
 * Why GPUs do not get into containers with the toolkit that the inventory leaves to its owner (`toolkit: none`).
 * `driverStays`: no other one is about to come; what describes it would change with it.
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
    what: `the CDI specification was made for driver ${cdiDriver}, and ${loaded ?? 'none'} is loaded`,
    next: 'sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml, or remove "toolkit: none" from the inventory',
  };
}
