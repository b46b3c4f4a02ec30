import { missingLibraries } from '../../packages/names.ts';
import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import { platformOf } from '../../packages/distribution.ts';
import { uploadAgent } from '../bundle/agent.ts';
import {
  type Change,
  type Detail,
  later,
  refusal,
  type Refusal,
  runChange,
  type Shape,
  textArtifact,
  upload,
} from '../change.ts';
import { describeFile, details, fieldDetails, item, written } from '../description.ts';
import { isDesiredDriver } from '../driver/compatibility.ts';
import { agentArch, configText, managerConfig, storesSecret } from './config.ts';
import {
  earlierSecret,
  managerUnitFor,
  program,
  quiet,
  secrets,
  settings,
  withoutUnitMark,
} from './files.ts';
import { start } from './start.ts';
import { managerVersion, runtimeOf } from './version.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { laterPools, poolNames, withPoolNames } from '../pool-names.ts';
import type { Desired, Step } from '../step.ts';
import { defined } from '../../../shared/base/objects.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import type { ManagerConfig } from '../../../shared/contract/config.ts';
import { drainLine, isResumedBy } from '../../../shared/contract/drain.ts';
import { HostPaths, managerUnit } from '../../../shared/contract/paths.ts';
import { releaseGap } from '../../../shared/contract/release.ts';
import { chooseBase, cudaOfDriver, type HostGpus } from '../../../shared/image/choose.ts';

/** Installs the manager: its program, configuration, credential and unit, and starts it with all of them. */
export const managerStep: Step = {
  name: 'manager',
  *plan(facts, desired) {
    const arch = agentArch(facts.arch);
    const runtime = runtimeOf(facts, desired);
    if (arch === undefined || runtime === undefined) return; // the image step has refused
    const gap = facts.manager.release && releaseGap(desired.host.name, facts.manager.release);
    if (gap?.manager === 'newer') {
      // This release may not be able to read the state of a much newer manager.
      yield refusal('manager', gap.what, gap.next);
      return;
    }
    const version = managerVersion(desired, runtime);
    const pools = poolNames(desired.host, facts);
    const nameless = pools.find((pool) => pool.kind === 'never');
    if (nameless !== undefined) {
      yield refusal('manager', nameless.what, nameless.next);
      return;
    }
    const tooOld = tooOldForHostMode(facts, desired.host);
    if (tooOld !== undefined) {
      yield tooOld;
      return;
    }
    yield* libraries(facts, desired);
    yield* uploadAgent(facts, desired);
    const host = withPoolNames(desired.host, facts);
    const value = managerConfig({ ...desired, host }, arch);
    const config = configText(value);
    const unit = managerUnitFor(desired.artifacts.unit, facts.systemd, storesSecret(desired.credential));
    const found = [
      ...program(facts, desired, version),
      ...settings(facts, desired.proxy.caPem, { text: config, value }),
      ...secrets(facts, desired),
      ...systemdUnit(facts, unit.text),
    ];
    const { caSha256: ca } = value.proxy;
    const desiredStart = { configHash: sha256(config), program: version.directory, unit: unit.mark };
    const started = [...start(facts, version, { ...desiredStart, ...defined({ ca }) }, found)];
    if (laterPools(desired.host, facts).length > 0) {
      // The configuration contains what the driver decides, and the other changes depend on the configuration.
      yield* [...found, ...started].map((each) => later(each, 'driver'));
      return;
    }
    yield* found;
    yield* started;
    yield* earlierSecret(facts, desired);
    yield* leftovers(facts, [...found.flatMap(uploadPaths), ...folderPaths(desired)]);
    yield* enableAgents(facts);
    if (started.length === 0) yield* waitForImage(facts, desired.host, value);
  },
};

function* systemdUnit(facts: Facts, unit: string): Iterable<Change> {
  const seen = facts.files[HostPaths.unit];
  if (seen === sha256(unit)) return;
  const why = seen === undefined ? 'not installed' : `${HostPaths.unit} differs`;
  const file = written(facts, HostPaths.unit, unit);
  const [before, after] = [file.before && withoutUnitMark(file.before), withoutUnitMark(unit)];
  const description = { ...describeFile(file), details: fieldDetails({ before, after }) };
  yield quiet('unit', { title: `install the unit ${managerUnit}`, why, ...description }, [
    upload(textArtifact(unit), HostPaths.unit, 0o644),
  ]);
}

function uploadPaths({ actions }: Change): readonly string[] {
  return actions.flatMap((action) => ('path' in action ? [action.path] : []));
}

/** Returns the paths of Dockerfile folders that the image step uploads; the archive is named by its content. */
function folderPaths({ host, artifacts }: Desired): readonly string[] {
  const folder = host.dockerfile && artifacts.folders.get(host.dockerfile.folder);
  return folder === undefined ? [] : [`${HostPaths.folders}/${folder.artifact.sha256}.tar`];
}

/** The first systemd with Type=exec (its NEWS); Enterprise Linux 8 has 239, without it (perfsonar/pscheduler#1393). */
const oldest = 240;

/** Refuses slots with `mode: host` on a systemd that does not report the start of their units. */
function tooOldForHostMode({ systemd }: Facts, { agents }: HostSpec): Refusal | undefined {
  const onHost = agents.kind === 'slots' && agents.slots.some(({ mode }) => mode === 'host');
  if (!onHost || systemd === undefined || systemd >= oldest) return undefined;
  return refusal(
    'manager',
    `slots with mode: host need systemd ${oldest}, and this host has ${systemd}`,
    'remove mode: host from its slots, or install a newer release of the distribution',
  );
}

/**
 * Installs libraries for agents with `mode: host`; images contain their own. They are not held, so security upgrades
 * continue. On unsupported distributions the manager reports missing libraries.
 */
export function* libraries(facts: Facts, { host, proxy }: Desired): Iterable<PackageChange> {
  const { agents } = host;
  const platform = platformOf(facts);
  if (platform === undefined || agents.kind !== 'slots') return;
  if (agents.slots.every(({ mode }) => mode === 'container')) return;
  const { missing, script } = missingLibraries(platform.names.agentLibraries, facts.packages);
  if (missing.length === 0) return;
  yield packageChange({
    step: 'manager',
    name: 'libraries',
    platform,
    subject: { what: missing.join(', '), from: undefined, to: undefined, note: ' for agents on the host' },
    why: 'required by agents outside containers',
    disturbs: 'nothing',
    timeoutS: 1800,
    transaction: { packages: [], remove: [], mayRemove: [], proxy, before: script },
  });
}

/**
 * Removes files of interrupted runs: partial uploads and an unused credential. `taken`: paths whose uploads this plan
 * continues.
 */
function* leftovers(facts: Facts, taken: readonly string[]): Iterable<Change> {
  const left = facts.manager.leftovers.filter((path) => !taken.some((each) => continues(path, each)));
  if (left.length === 0) return;
  yield runChange(
    'manager',
    'leftovers',
    {
      title: `remove partial uploads of an interrupted run: ${left.map((path) => path.split('/').at(-1)).join(', ')}`,
      why: 'never completed',
      disturbs: 'nothing',
      marker: 'remove',
    },
    { script: sh`rm -f ${left}`, timeoutS: 30, durable: false, writes: left },
  );
}

/** Returns whether the upload to `path` continues or replaces this file. */
function continues(left: string, path: string): boolean {
  return left === path || left.startsWith(`${path}.`);
}

/**
 * Removes drain entries of interrupted runs. Changes are made under the host's lock, so those runs have ended. Drains by users
 * stay.
 */
function* enableAgents({ manager: { status } }: Facts): Iterable<Change> {
  for (const drain of status?.drains ?? []) {
    if (drain.run === undefined || !isResumedBy('provision', drain)) continue;
    yield runChange(
      'manager',
      'undrain',
      {
        title: 'enable the agents again',
        why: `drained by an interrupted run: ${drainLine(drain)}`,
        disturbs: 'nothing',
        marker: 'change',
      },
      { script: undrainScript(drain.run), timeoutS: 60, durable: false },
    );
  }
}

/** Returns a script that removes a run's drain and waits until the status file shows it. */
function undrainScript(run: string): string {
  const [node, program] = [`${HostPaths.current}/node`, `${HostPaths.current}/manager.mjs`];
  return sh`${new Raw(failFunction)}
${node} ${program} undrain --run ${run} >/dev/null
for pause in 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1; do
  grep -qF ${`"run":"${run}"`} ${HostPaths.status} || exit 0
  sleep "$pause"
done
fail 'the manager did not remove the drain of an interrupted run' 'a status without it within 20 s' ${run} \
  'azp-fleet undrain   # ends the drains of interrupted runs'`;
}

/**
 * Waits for the image after a driver change: an up-to-date manager restarts and may build its image for the new driver, which
 * takes an unknown time. Nothing without a driver change.
 */
function* waitForImage(facts: Facts, host: HostSpec, config: ManagerConfig): Iterable<Shape> {
  if (facts.gpus.length === 0 || !host.driver.install || isDesiredDriver(facts, host)) return;
  yield {
    kind: 'shape',
    step: 'manager',
    title: 'wait for the agent image',
    until: 'driver',
    disturbs: 'nothing',
    waits: true,
    marker: 'change',
    details: newBase(facts, host, config),
  };
}

/** Describes the base that the manager will choose, by its last GPU observation. */
function newBase(facts: Facts, { driver }: HostSpec, { image }: ManagerConfig): readonly Detail[] {
  const health = facts.manager.status?.health;
  if (image.kind !== 'build' || image.base !== undefined || health === undefined) return [];
  const gpus = {
    arch: facts.arch,
    capabilities: (health.gpus ?? []).flatMap((gpu) => gpu.computeCapability ?? []),
    cpuOnly: false,
  };
  const from = baseOf({ ...gpus, cudaMax: health.cudaVersion });
  const to = baseOf({ ...gpus, cudaMax: cudaOfDriver(driver.version ?? driver.branch) });
  const effect = 'the image is rebuilt; all slots move to it, running jobs finish first';
  return from === undefined || to === undefined ? [] : details(item('base of the image', from, to, effect));
}

function baseOf(gpus: HostGpus): string | undefined {
  const choice = chooseBase(gpus);
  return choice.ok ? choice.tag : undefined;
}
