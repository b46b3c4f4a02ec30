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
import { agentArch, configText, managerConfig } from './config.ts';
import { managerUnitFor, program, quiet, secrets, settings, withoutUnitMark } from './files.ts';
import { start } from './start.ts';
import { managerVersion } from './version.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { laterPools, poolNames, withPoolNames } from '../pool-names.ts';
import type { Desired, Step } from '../step.ts';
import { defined } from '../../../shared/base/objects.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import type { ManagerConfig } from '../../../shared/contract/config.ts';
import { drainLine } from '../../../shared/contract/drain.ts';
import { HostPaths, managerUnit } from '../../../shared/contract/paths.ts';
import { releaseGap } from '../../../shared/contract/release.ts';
import { chooseBase, cudaOfDriver, type HostGpus } from '../../../shared/image/choose.ts';

/** The manager: its files, its configuration, its credential, its unit, and that it runs with all of them. */
export const managerStep: Step = {
  name: 'manager',
  *plan(facts, desired) {
    const arch = agentArch(facts.arch);
    const runtime = desired.artifacts.runtime(facts.arch);
    if (arch === undefined || runtime === undefined) return; // the image step has refused
    const gap = facts.manager.release && releaseGap(desired.host.name, facts.manager.release);
    if (gap?.manager === 'newer') {
      // What a much newer manager has written on the host, this one may not read.
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
    const wanted = managerConfig({ ...desired, host }, arch);
    const config = configText(wanted);
    const unit = managerUnitFor(desired.artifacts.unit, facts.systemd);
    const found = [
      ...program(facts, desired, version),
      ...settings(facts, desired.proxy.caPem, { text: config, value: wanted }),
      ...secrets(facts, desired),
      ...systemdUnit(facts, unit.text),
    ];
    const { caSha256: ca } = wanted.proxy;
    const wantedStart = { configHash: sha256(config), program: version.directory, unit: unit.mark };
    const started = [...start(facts, version, { ...wantedStart, ...defined({ ca }) }, found)];
    if (laterPools(desired.host, facts).length > 0) {
      // What the driver decides is in the configuration, and all that comes with it and after it rests on it.
      yield* [...found, ...started].map((each) => later(each, 'driver'));
      return;
    }
    yield* found;
    yield* started;
    yield* leftovers(facts, [...found.flatMap(uploadPaths), ...folderPaths(desired)]);
    yield* enableAgents(facts);
    if (started.length === 0) yield* waitForImage(facts, desired.host, wanted);
  },
};

function* systemdUnit(facts: Facts, unit: string): Iterable<Change> {
  const seen = facts.files[HostPaths.unit];
  if (seen === sha256(unit)) return;
  const why = seen === undefined ? 'not installed' : 'its text differs';
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

/** The image step sends a team's folder; its archive is named by its content. */
function folderPaths({ host, artifacts }: Desired): readonly string[] {
  const folder = host.dockerfile && artifacts.folders.get(host.dockerfile.folder);
  return folder === undefined ? [] : [`${HostPaths.folders}/${folder.artifact.sha256}.tar`];
}

/** Type=exec came with it (its NEWS); release 8 of Red Hat's systems has 239, without it (perfsonar/pscheduler#1393). */
const oldest = 240;

/** Agents straight on the host are units whose start systemd has to tell of; undefined: nothing is in their way. */
function tooOldForHostMode({ systemd }: Facts, { agents }: HostSpec): Refusal | undefined {
  const onHost = agents.kind === 'slots' && agents.slots.some(({ mode }) => mode === 'host');
  if (!onHost || systemd === undefined || systemd >= oldest) return undefined;
  return refusal(
    'manager',
    `agents straight on the host need systemd ${oldest}, and this host has ${systemd}`,
    'take mode: host out of its slots, or install a newer release of the system',
  );
}

/**
 * What agents load that run on the host itself: in a container the image has it. Security upgrades of it go on as before,
 * nothing is held. On other systems the manager says what is missing.
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
 * Takes away what earlier runs have sent and never put in place: halves of uploads, and a credential that nobody wants any
 * more. `taken`: paths that the plan's own uploads go on with.
 */
function* leftovers(facts: Facts, taken: readonly string[]): Iterable<Change> {
  const left = facts.manager.leftovers.filter((path) => !taken.some((each) => goesOn(path, each)));
  if (left.length === 0) return;
  yield runChange(
    'manager',
    'leftovers',
    {
      title: `remove partial uploads of an interrupted run: ${left.map((path) => path.split('/').at(-1)).join(', ')}`,
      why: 'they were never completed',
      disturbs: 'nothing',
      marker: 'remove',
    },
    { script: sh`rm -f ${left}`, timeoutS: 30, durable: false, writes: left },
  );
}

/** The upload to `path` finds this file and goes on with it, or throws it away. */
function goesOn(left: string, path: string): boolean {
  return left === path || left.startsWith(`${path}.`);
}

/**
 * Takes back the marks of runs that did not live to do it themselves. Changes are made under the host's lock: whoever set
 * them is gone then. What people have drained stays drained.
 */
function* enableAgents({ manager: { status } }: Facts): Iterable<Change> {
  for (const mark of status?.drains ?? []) {
    if (mark.run === undefined) continue;
    yield runChange(
      'manager',
      'undrain',
      {
        title: 'enable the agents again',
        why: `left by an interrupted run: ${drainLine(mark)}`,
        disturbs: 'nothing',
        marker: 'change',
      },
      { script: undrainScript(mark.run), timeoutS: 60, durable: false },
    );
  }
}

/** The status file follows what the manager is told within a moment. */
function undrainScript(run: string): string {
  const [node, program] = [`${HostPaths.current}/node`, `${HostPaths.current}/manager.mjs`];
  return sh`${new Raw(failFunction)}
${node} ${program} undrain --run ${run} >/dev/null
for pause in 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1; do
  grep -qF ${`"run":"${run}"`} ${HostPaths.status} || exit 0
  sleep "$pause"
done
fail 'the manager does not take back the mark of a run' 'a status without it within 20 s' ${run} \
  'azp-fleet undrain   # takes back all marks'`;
}

/**
 * A manager that is as wanted has to start again after a driver, and may have to build its image for it: how long that
 * takes nobody knows before. Nothing where no driver is to come.
 */
function* waitForImage(facts: Facts, host: HostSpec, config: ManagerConfig): Iterable<Shape> {
  if (facts.gpus.length === 0 || !host.driver.install || isDesiredDriver(facts, host)) return;
  yield {
    known: false,
    step: 'manager',
    title: 'wait for the agent image',
    until: 'driver',
    disturbs: 'nothing',
    waits: true,
    marker: 'change',
    details: newBase(facts, host, config),
  };
}

/** The base that the manager will choose, as far as its last look at the GPUs tells. */
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
