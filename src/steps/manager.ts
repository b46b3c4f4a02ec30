import { sha256 } from '../base/digest.ts';
import { sh } from '../base/shell.ts';
import type { ImageConfig } from '../contract/config.ts';
import { HostPaths, managerUnit } from '../contract/paths.ts';
import { releaseGap } from '../contract/release.ts';
import { imageOverall } from '../contract/status.ts';
import { defined } from '../base/defined.ts';
import type { Facts } from '../facts/facts.ts';
import type { Action, Artifact, Change, Shape } from './change.ts';
import { change, later, refusal } from './changes.ts';
import { laterPools, poolNames, withPoolNames } from './pool-names.ts';
import { reloadDisturbs } from './disturbance.ts';
import { agentArch, configText, managerConfig } from './manager-config.ts';
import { activateScript, installScript } from './manager-scripts.ts';
import { isCurrent, managerVersion, type ManagerVersion } from './manager-version.ts';
import { givenBack } from './manager/drained.ts';
import { leftovers } from './manager/leftovers.ts';
import { staleness, type WantedStart } from './manager/stale.ts';
import { managerUnitFor } from './manager/unit.ts';
import type { Desired, Step } from './step.ts';

/** The credential waits here until the moment of the restart, so that the file in use is never ahead of the manager. */
const nextToken = `${HostPaths.token}.next`;
/** Seconds. The first start builds or pulls the agent image: a CUDA base and the agent over a slow line. */
const readyTimeoutS = 3600;

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
    const waits = laterPools(desired.host, facts);
    if (waits.length > 0) {
      yield* [...files(facts, desired, version)].map((each) => later(each, 'driver'));
      yield inPoolsLater(facts, waits);
      return;
    }
    const host = withPoolNames(desired.host, facts);
    const wanted = managerConfig({ ...desired, host }, arch);
    const config = configText(wanted);
    const unit = managerUnitFor(desired.artifacts.unit, facts.systemd);
    const found = [
      ...files(facts, desired, version),
      ...settings(facts, desired, config, wanted.image),
      ...credential(facts, desired),
      ...registries(facts, desired),
      ...systemdUnit(facts, unit.text),
    ];
    yield* found;
    const { caSha256: ca } = wanted.proxy;
    const wantedStart = { configHash: sha256(config), program: version.directory, unit: unit.mark };
    yield* start(facts, version, { ...wantedStart, ...defined({ ca }) }, found);
    yield* leftovers(facts, [...found.flatMap(uploadPaths), ...folderPaths(desired)]);
    yield* givenBack(facts);
  },
};

/** What the driver decides is in the manager's configuration, and what comes after that rests on it. */
function inPoolsLater(facts: Facts, patterns: readonly string[]): Shape {
  const known = facts.files[HostPaths.unit] !== undefined;
  return {
    known: false,
    step: 'manager',
    title: `configure the manager for ${patterns.length === 1 ? 'pool' : 'pools'} ${patterns.join(', ')}, and start it`,
    until: 'driver',
    disturbs: known ? reloadDisturbs(facts) : 'nothing',
  };
}

function* files(facts: Facts, desired: Desired, version: ManagerVersion): Iterable<Change> {
  if (isCurrent(version, facts.manager.current)) return;
  const { artifacts } = desired;
  const title = `install the manager ${desired.version} (${version.id}) with Node ${artifacts.nodeVersion}`;
  const why = facts.manager.current === undefined ? 'not installed' : `installed is ${facts.manager.current}`;
  yield quiet('install', title, why, [
    {
      kind: 'run',
      durable: false,
      timeoutS: 30,
      script: installScript(version),
      writes: [HostPaths.opt, HostPaths.etc, HostPaths.state],
    },
    upload(version.runtime, `${version.runtimeDirectory}/node`, 0o755),
    upload(artifacts.manager, `${version.directory}/manager.mjs`, 0o644),
  ]);
}

function* settings(facts: Facts, { proxy }: Desired, config: string, image: ImageConfig): Iterable<Change> {
  // Whoever starts with the new configuration finds what it speaks of: it comes last.
  const wanted = [
    ...(proxy.caPem === undefined ? [] : [{ path: HostPaths.caBundle, text: proxy.caPem, mode: 0o644 }]),
    { path: HostPaths.config, text: config, mode: 0o600 },
  ].filter(({ path, text }) => facts.files[path] !== sha256(text));
  if (wanted.length === 0) return;
  const missing = wanted.every(({ path }) => facts.files[path] === undefined);
  const reason = missing ? 'there is none' : `it differs from the inventory${newImage(facts, image)}`;
  const why = `${reason}${unknownAgent(image)}`;
  const uploads = wanted.map(({ path, text, mode }) => upload(textArtifact(text), path, mode));
  yield quiet('configuration', "write the manager's configuration", why, uploads);
}

/** There is nothing to hold the agent's archive to before the host has seen one. */
function unknownAgent(image: ImageConfig): string {
  if (image.kind === 'registry' || image.agentSha256 !== '') return '';
  return `; the digest of agent ${image.agentVersion} is not known: the host holds it to the archive that comes first, over https`;
}

/** What a change of the image means for the agents. */
function newImage({ manager: { status } }: Facts, image: ImageConfig): string {
  if (image.kind !== 'registry' || status?.image.reference === undefined) return '';
  if (status.image.reference === image.reference) return '';
  const from = image.builtBy === undefined ? '' : `, built by ${image.builtBy}`;
  return `; agents move to ${image.reference}${from}, one at a time, those with a job after it`;
}

function* credential(facts: Facts, { credentialDigest }: Desired): Iterable<Change> {
  const wanted = credentialDigest?.(facts.machineId);
  if (wanted === undefined || wanted === facts.manager.credentialDigest) return;
  const why = facts.manager.credentialDigest === undefined ? 'the host has none' : 'the host has another one';
  yield quiet('credential', 'store the credential (root only)', why, [
    { kind: 'credential', path: nextToken },
  ]);
}

/** In place at once: the manager reads the file at each pull and build. */
function* registries(facts: Facts, { registries: { names, digest } }: Desired): Iterable<Change> {
  const seen = facts.manager.registriesDigest;
  if (names.length === 0) {
    if (seen === undefined) return;
    const script = sh`rm -f ${HostPaths.registries}`;
    yield quiet('registries', 'remove the passwords of registries', 'the inventory has none', [
      { kind: 'run', durable: false, timeoutS: 30, script, writes: [HostPaths.registries] },
    ]);
    return;
  }
  if (digest === undefined || digest(facts.machineId) === seen) return;
  const title = `store the passwords of registries (root only): ${names.join(', ')}`;
  yield quiet('registries', title, seen === undefined ? 'the host has none' : 'the host has others', [
    { kind: 'registries', path: HostPaths.registries },
  ]);
}

function* systemdUnit(facts: Facts, unit: string): Iterable<Change> {
  const seen = facts.files[HostPaths.unit];
  if (seen === sha256(unit)) return;
  const why = seen === undefined ? 'not installed' : 'its text differs';
  yield quiet('unit', `install the unit ${managerUnit}`, why, [
    upload(textArtifact(unit), HostPaths.unit, 0o644),
  ]);
}

function* start(
  facts: Facts,
  version: ManagerVersion,
  wanted: WantedStart,
  found: Change[],
): Iterable<Change> {
  const why = found.length > 0 ? 'what it runs with has changed' : staleness(facts, wanted);
  const { configHash } = wanted;
  const ready: Action = { kind: 'await-manager', configHash, timeoutS: readyTimeoutS };
  if (why === undefined) {
    const { status } = facts.manager;
    const state = status && imageOverall(status).state;
    if (state === 'ready') return;
    const reason = state === undefined ? 'the manager has said nothing yet' : `its state is ${state}`;
    yield quiet('ready', 'wait for the agent image', reason, [ready]);
    return;
  }
  // systemd reads a unit that it has not seen before by itself; of a known one it keeps the text and the state.
  const known = facts.files[HostPaths.unit] !== undefined;
  const reload =
    facts.manager.reloadNeeded ||
    (known && (!facts.manager.unitEnabled || found.some(({ id }) => id.startsWith('manager-unit'))));
  const script = activateScript({
    version,
    reload: reload || facts.systemd === undefined || facts.systemd < 247,
    token: found.some(({ id }) => id.startsWith('manager-credential')) ? nextToken : undefined,
  });
  const running = facts.manager.unitActive === 'active';
  const title = running
    ? 'restart the manager (jobs go on) and wait for it'
    : 'start the manager and wait for it';
  const disturbs = reload ? reloadDisturbs(facts) : 'nothing';
  const writes = [HostPaths.opt, HostPaths.etc];
  const run: Action = { kind: 'run', durable: true, timeoutS: 180, script, writes };
  yield change('manager', 'start', { title, why, disturbs }, [run, ready]);
}

/** A change that disturbs nothing. */
function quiet(name: string, title: string, why: string, actions: readonly Action[]): Change {
  return change('manager', name, { title, why, disturbs: 'nothing' }, actions);
}

function upload(artifact: Artifact, path: string, mode: number): Action {
  return { kind: 'upload', artifact, path, mode };
}

function textArtifact(text: string): Artifact {
  return { kind: 'text', text, sha256: sha256(text) };
}

function uploadPaths({ actions }: Change): readonly string[] {
  return actions.flatMap((action) => ('path' in action ? [action.path] : []));
}

/** The image step sends a team's folder; its archive is named by its content. */
function folderPaths({ host, artifacts }: Desired): readonly string[] {
  const folder = host.dockerfile && artifacts.folders.get(host.dockerfile.folder);
  return folder === undefined ? [] : [`${HostPaths.folders}/${folder.artifact.sha256}.tar`];
}
