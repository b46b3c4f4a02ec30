import type { Facts } from '../../facts/facts.ts';
import {
  type Action,
  type Change,
  change,
  type Description,
  type Detail,
  type Marker,
  textArtifact,
  upload,
} from '../change.ts';
import { certificateDetails, details, isDowngrade, item, textDiff, written } from '../description.ts';
import { describeConfig } from './config-description.ts';
import { installScript, isCurrent, type ManagerVersion } from './version.ts';
import type { Desired } from '../step.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { sh } from '../../../shared/base/shell.ts';
import type { ImageConfig, ManagerConfig } from '../../../shared/contract/config.ts';
import { HostPaths, unitMarkVariable } from '../../../shared/contract/paths.ts';

/** The credential waits here until the moment of the restart, so that the file in use is never ahead of the manager. */
export const nextToken = `${HostPaths.token}.next`;

interface Words extends Description {
  readonly title: string;
  readonly why: string;
}

/** A change of the manager that disturbs nothing. */
export function quiet(name: string, words: Words, actions: readonly Action[]): Change {
  return change('manager', name, { ...words, disturbs: 'nothing' }, actions);
}

/** The manager's bundle and its runtime; an older one than the host has is called that. */
export function* program(facts: Facts, desired: Desired, version: ManagerVersion): Iterable<Change> {
  if (isCurrent(version, facts.manager.current)) return;
  const { current, release } = facts.manager;
  const { artifacts } = desired;
  const older = isDowngrade(release?.version, desired.version);
  const words = `the manager ${desired.version} (${version.id}) with Node ${artifacts.nodeVersion}`;
  const description = {
    title: older ? `downgrade to ${words}` : `install ${words}`,
    why: current === undefined ? 'not installed' : `installed: ${current}`,
  };
  const actions = [
    {
      kind: 'run' as const,
      durable: false,
      timeoutS: 30,
      script: installScript(version),
      writes: [HostPaths.opt, HostPaths.etc, HostPaths.state],
    },
    upload(version.runtime, `${version.runtimeDirectory}/node`, 0o755),
    upload(artifacts.manager, `${version.directory}/manager.mjs`, 0o644),
  ];
  yield current === undefined
    ? quiet('install', description, actions)
    : quiet('install', { ...description, marker: 'change', details: versions(facts, desired) }, actions);
}

/** As far as the manager that runs tells them. */
function versions(
  { manager: { release, status } }: Facts,
  { version, artifacts }: Desired,
): readonly Detail[] {
  const pairs = [
    ['manager', release?.version, version],
    ['Node', status?.node, artifacts.nodeVersion],
  ] as const;
  return details(
    pairs.flatMap(([name, from, to]) =>
      from === undefined ? [] : item(name, from, to, isDowngrade(from, to) ? 'a downgrade' : undefined),
    ),
  );
}

/** manager.json and the site's certificates beside it: key by key what becomes of them, and what follows. */
export function* settings(
  facts: Facts,
  caPem: string | undefined,
  config: { readonly text: string; readonly value: ManagerConfig },
): Iterable<Change> {
  const files = [
    // Whoever starts with the new configuration finds what it speaks of: it comes last.
    ...(caPem === undefined ? [] : [{ path: HostPaths.caBundle, text: caPem, mode: 0o644 }]),
    { path: HostPaths.config, text: config.text, mode: 0o600 },
  ].filter(({ path, text }) => facts.files[path] !== sha256(text));
  if (files.length === 0) return;
  const isNew = files.every(({ path }) => facts.files[path] === undefined);
  const differs = (path: string): boolean => files.some((file) => file.path === path);
  const description = differs(HostPaths.config)
    ? describeConfig(seenOn(facts), config.value)
    : { details: [] };
  const ca =
    caPem !== undefined && differs(HostPaths.caBundle)
      ? certificateDetails(facts, HostPaths.caBundle, caPem)
      : [];
  const reason = isNew ? 'there is none' : 'it differs from the inventory';
  yield quiet(
    'configuration',
    {
      title: "write the manager's configuration",
      why: [
        reason,
        ...(description.remark === undefined ? [] : [description.remark]),
        ...unknownAgent(config.value.image),
      ].join('; '),
      marker: isNew ? 'add' : 'change',
      details: [...ca, ...description.details],
      texts: files.map(({ path, text }) => textDiff(written(facts, path, text))),
    },
    files.map(({ path, text, mode }) => upload(textArtifact(text), path, mode)),
  );
}

function seenOn({
  files,
  texts,
  gpus,
  memoryMiB,
  manager: { status },
}: Facts): Parameters<typeof describeConfig>[0] {
  const path = HostPaths.config;
  return { digest: files[path], text: texts[path], gpus: gpus.length, memoryMiB, status };
}

/** There is nothing to hold the agent's archive to before the host has seen one. */
function unknownAgent(image: ImageConfig): readonly string[] {
  if (image.kind === 'registry' || image.agentSha256 !== '') return [];
  return [
    `the digest of agent ${image.agentVersion} is not known: the host holds it to the archive that comes first, over https`,
  ];
}

/** The files that only root may read. What they hold is in no plan: a host tells digests, salted with its machine-id. */
export function* secrets(facts: Facts, desired: Desired): Iterable<Change> {
  yield* credential(facts, desired);
  yield* registries(facts, desired);
  yield* webhook(facts, desired);
}

function* credential(facts: Facts, { credentialDigest }: Desired): Iterable<Change> {
  const wanted = credentialDigest?.(facts.machineId);
  const seen = facts.manager.credentialDigest;
  if (wanted === undefined || wanted === seen) return;
  const why = seen === undefined ? 'the host has none' : 'the host has another one';
  const words = { title: 'store the credential (root only)', why, marker: addOrChange(seen) };
  yield quiet('credential', words, [{ kind: 'credential', path: nextToken }]);
}

/** In place at once: the manager reads the file at each pull and build. */
function* registries(facts: Facts, { registries: { names, digest } }: Desired): Iterable<Change> {
  const seen = facts.manager.registriesDigest;
  if (names.length === 0) {
    if (seen !== undefined)
      yield removal('registries', 'remove the passwords of registries', HostPaths.registries);
    return;
  }
  if (digest === undefined || digest(facts.machineId) === seen) return;
  const title = `store the passwords of registries (root only): ${names.join(', ')}`;
  const why = seen === undefined ? 'the host has none' : 'the host has others';
  yield quiet('registries', { title, why, marker: addOrChange(seen) }, [
    { kind: 'registries', path: HostPaths.registries },
  ]);
}

/** In place at once, likewise. */
function* webhook(facts: Facts, { host, webhookDigest }: Desired): Iterable<Change> {
  const seen = facts.manager.webhookDigest;
  if (host.webhook === undefined) {
    if (seen !== undefined) yield removal('webhook', 'remove the address of the webhook', HostPaths.webhook);
    return;
  }
  if (webhookDigest === undefined || webhookDigest(facts.machineId) === seen) return;
  const title = 'store the address of the webhook (root only)';
  const why = seen === undefined ? 'the host has none' : 'the host has another one';
  yield quiet('webhook', { title, why, marker: addOrChange(seen) }, [
    { kind: 'webhook', path: HostPaths.webhook },
  ]);
}

function removal(name: string, title: string, path: string): Change {
  return quiet(name, { title, why: 'the inventory has none', marker: 'remove' }, [
    { kind: 'run', durable: false, timeoutS: 30, script: sh`rm -f ${path}`, writes: [path] },
  ]);
}

function addOrChange(seen: string | undefined): Marker {
  return seen === undefined ? 'add' : 'change';
}

/** The manager's unit for a host. */
interface ManagerUnit {
  readonly text: string;
  /** What a process that this text started has in its environment, and tells in its status. */
  readonly mark: string;
}

/** The oldest systemd that the unit is written for. */
const oldest = 239;

/**
 * Settings that came later, with the version of systemd that brought them, by its NEWS. An older one would pass over them, and
 * complain at each start. Without LoadCredential= the manager reads the root-only file itself; without RestartSteps= the pause
 * between restarts does not grow.
 */
export const laterSettings: ReadonlyMap<string, number> = new Map([
  ['ProtectHostname', 242],
  ['RestrictSUIDSGID', 242],
  ['ProtectClock', 245],
  ['TimeoutStartFailureMode', 246],
  ['LoadCredential', 247],
  ['RestartMaxDelaySec', 254],
  ['RestartSteps', 254],
]);

/** `systemd`: its version on the host; undefined: not known. */
export function managerUnitFor(unit: string, systemd = oldest): ManagerUnit {
  const plain = unit
    .split('\n')
    .filter((line) => (laterSettings.get(line.split('=', 1)[0] ?? '') ?? oldest) <= systemd)
    .join('\n');
  const mark = sha256(plain).slice(0, 12);
  return { text: plain.replace(/^\[Service\]\n/m, `$&Environment=${unitMarkVariable}=${mark}\n`), mark };
}

/** The unit's text as people compare it. */
export function withoutUnitMark(text: string): string {
  return text.replace(new RegExp(`^Environment=${unitMarkVariable}=.*\n`, 'm'), '');
}
