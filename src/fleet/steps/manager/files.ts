import type { Facts } from '../../facts/facts.ts';
import { type Platform, platformOf } from '../../packages/distribution.ts';
import {
  type Action,
  type Change,
  change,
  type Description,
  type Detail,
  type FileArtifact,
  type Marker,
  textArtifact,
  upload,
} from '../change.ts';
import { certificateDetails, details, isDowngrade, item, textDiff, written } from '../description.ts';
import { storesSecret } from './config.ts';
import { describeConfig } from './config-description.ts';
import { fetchRuntimeScript, installScript, isCurrent, type ManagerVersion } from './version.ts';
import type { Desired } from '../step.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { sh } from '../../../shared/base/shell.ts';
import type { ImageConfig, ManagerConfig } from '../../../shared/contract/config.ts';
import { HostPaths, unitMarkVariable } from '../../../shared/contract/paths.ts';

/** The new credential until the restart, so that the file in use always matches the running manager. */
export const nextToken = `${HostPaths.token}.next`;

interface Described extends Description {
  readonly title: string;
  readonly why: string;
}

/** A change of the manager that disturbs nothing. */
export function quiet(name: string, described: Described, actions: readonly Action[]): Change {
  return change('manager', name, { ...described, disturbs: 'nothing' }, actions);
}

/** Installs the manager's program and its runtime; the title names a downgrade. */
export function* program(facts: Facts, desired: Desired, version: ManagerVersion): Iterable<Change> {
  if (isCurrent(version, facts.manager.current)) return;
  const { current, release } = facts.manager;
  const { artifacts } = desired;
  const older = isDowngrade(release?.version, desired.version);
  const subject = `the manager ${desired.version} (${version.id}) with Node ${artifacts.nodeVersion}`;
  const description = {
    title: older ? `downgrade to ${subject}` : `install ${subject}`,
    why: current === undefined ? 'not installed' : `installed: ${current}`,
  };
  const mirror = mirrorOf(facts, desired, version);
  const actions = [
    {
      kind: 'run' as const,
      durable: false,
      timeoutS: 30,
      script: installScript(version),
      writes: [HostPaths.opt, HostPaths.etc, HostPaths.state],
    },
    ...(mirror === undefined ? [] : [fetching(version, mirror, desired)]),
    upload(version.runtime, `${version.runtimeDirectory}/node`, 0o755),
    upload(artifacts.manager, `${version.directory}/manager.mjs`, 0o644),
  ];
  const from: readonly Detail[] =
    mirror === undefined
      ? []
      : [{ marker: 'add', text: `Node from ${mirror.url}; uploaded where that fails` }];
  const changes = [...(current === undefined ? [] : versions(facts, desired)), ...from];
  yield quiet(
    'install',
    {
      ...description,
      ...(current === undefined ? {} : { marker: 'change' }),
      ...(changes.length === 0 ? {} : { details: changes }),
    },
    actions,
  );
}

interface RuntimeMirror {
  readonly url: string;
  readonly runtime: FileArtifact;
  readonly platform: Platform;
}

/** Returns where a host fetches the runtime itself; undefined: it is uploaded. */
function mirrorOf(
  facts: Facts,
  { artifacts, mirrors }: Desired,
  { runtime }: ManagerVersion,
): RuntimeMirror | undefined {
  const path = artifacts.runtimePath?.(facts.arch);
  const platform = platformOf(facts);
  if (mirrors.npm === undefined || path === undefined) return undefined;
  if (platform === undefined || runtime.kind !== 'file') return undefined;
  return { url: `${mirrors.npm.replace(/\/$/, '')}/${path}`, runtime, platform };
}

/** Returns the action by which a host fetches the runtime from `mirrors.npm`. */
function fetching(
  { runtimeDirectory }: ManagerVersion,
  { url, runtime, platform }: RuntimeMirror,
  { proxy }: Desired,
): Action {
  const script = fetchRuntimeScript(runtime, runtimeDirectory, url, platform.packages.downloader(proxy));
  return { kind: 'run', durable: true, timeoutS: 900, script, writes: [HostPaths.runtimes] };
}

/** Describes version changes, as far as the running manager reports its versions. */
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

/** Writes manager.json and the site's certificates, described key by key with the consequences. */
export function* settings(
  facts: Facts,
  caPem: string | undefined,
  config: { readonly text: string; readonly value: ManagerConfig },
): Iterable<Change> {
  const files = [
    // The configuration comes last: the files that it refers to exist when the manager starts with it.
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
  const reason = isNew ? 'manager.json is missing' : 'differs from the inventory';
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

/** Returns a remark where the digest of the agent's archive is unknown. */
function unknownAgent(image: ImageConfig): readonly string[] {
  if (image.kind === 'registry' || image.agentSha256 !== '') return [];
  return [`unknown digest of agent ${image.agentVersion}: the host trusts its first download, over https`];
}

/** Writes the files that only root may read. Plans never contain secrets: hosts report digests salted with the machine-id. */
export function* secrets(facts: Facts, desired: Desired): Iterable<Change> {
  yield* credential(facts, desired);
  yield* registries(facts, desired);
  yield* webhook(facts, desired);
}

function* credential(facts: Facts, { credentialDigest }: Desired): Iterable<Change> {
  const desired = credentialDigest?.(facts.machineId);
  const seen = facts.manager.credentialDigest;
  if (desired === undefined || desired === seen) return;
  const why = seen === undefined ? 'the host has none' : 'the host has another one';
  const described = { title: 'store the credential (root only)', why, marker: addOrChange(seen) };
  yield quiet('credential', described, [{ kind: 'credential', path: nextToken }]);
}

/** Stores registries' passwords, used at once: the manager reads the file at each pull and build. */
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

/** Stores the webhook's address, used at once. */
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

/** Removes the secret of an earlier login, which the running manager does not use any more. */
export function* earlierSecret(facts: Facts, { credential: source }: Desired): Iterable<Change> {
  if (storesSecret(source) || facts.manager.credentialDigest === undefined) return;
  yield quiet(
    'earlier-secret',
    {
      title: 'remove the stored token or secret',
      why: 'the inventory has a login without one; revoke it if it is used nowhere else',
      marker: 'remove',
    },
    [
      {
        kind: 'run',
        durable: false,
        timeoutS: 30,
        script: sh`rm -f ${HostPaths.token} ${nextToken}`,
        writes: [HostPaths.token, nextToken],
      },
    ],
  );
}

function addOrChange(seen: string | undefined): Marker {
  return seen === undefined ? 'add' : 'change';
}

/** The manager's unit for a host. */
interface ManagerUnit {
  readonly text: string;
  /** Digest of the text, in the environment of processes that it starts and in their status. */
  readonly mark: string;
}

/** The oldest systemd that the unit is written for. */
const oldest = 239;

/**
 * Settings of newer systemd versions, by its NEWS; older versions would log a warning at each start. Without LoadCredential= the
 * manager reads the root-only file itself; without RestartSteps= the pause between restarts does not grow.
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

/** Returns the unit for the host's version of systemd; undefined: unknown version. `hasSecret`: one is stored for it. */
export function managerUnitFor(unit: string, systemd = oldest, hasSecret = true): ManagerUnit {
  const plain = unit
    .split('\n')
    .filter((line) => hasSecret || !line.startsWith('LoadCredential='))
    .filter((line) => (laterSettings.get(line.split('=', 1)[0] ?? '') ?? oldest) <= systemd)
    .join('\n');
  const mark = sha256(plain).slice(0, 12);
  return { text: plain.replace(/^\[Service\]\n/m, `$&Environment=${unitMarkVariable}=${mark}\n`), mark };
}

/** Returns the unit's text without its digest, for a diff. */
export function withoutUnitMark(text: string): string {
  return text.replace(new RegExp(`^Environment=${unitMarkVariable}=.*\n`, 'm'), '');
}
