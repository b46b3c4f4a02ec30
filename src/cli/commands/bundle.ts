import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type { HostOutcome } from '../../fleet/apply/outcome.ts';
import { reachHosts } from '../../fleet/apply/survey.ts';
import { loadArtifacts } from '../../fleet/artifacts/load.ts';
import { contextArchive } from '../../fleet/artifacts/upload-sources.ts';
import { openBundle } from '../../fleet/bundle/archive.ts';
import { makeBundle } from '../../fleet/bundle/make/make.ts';
import {
  namedSystem,
  needingOf,
  needingUnseen,
  needsOf,
  readForBundle,
  type Target,
  type Unprovided,
} from '../../fleet/bundle/make/needs.ts';
import type { Manifest } from '../../fleet/bundle/manifest.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { desiredOf } from '../../fleet/plan/desired.ts';
import type { Desired } from '../../fleet/steps/step.ts';
import { createFetch } from '../../shared/azure/http/proxy.ts';
import { timestamp } from '../../shared/base/clock.ts';
import type { Context } from '../../shared/base/context.ts';
import { codeOf, ExitCode, type FleetError, type Problem, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { version } from '../../shared/base/version.ts';
import type { CommandInput } from '../command.ts';
import { cacheFolder } from '../own-folders.ts';
import { fold } from '../render/lines.ts';
import { columns } from '../render/table.ts';
import { problemsAmong, type Result } from '../result.ts';
import { readCa } from '../run/fleet.ts';
import { connected, type Connected, overSsh } from '../run/hosts.ts';
import { openHosts, type OpenHosts } from '../run/inventory.ts';
import { hostTools } from '../run/planning.ts';

/** Creates a bundle, or shows one. */
export function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const [out, shown] = [options.string('out'), options.string('show')];
  if (shown !== undefined && out === undefined) return showBundle(context, shown);
  if (out !== undefined && shown === undefined) return make(context, input, out);
  throw usageError({
    code: 'usage.arguments',
    what: 'no bundle file',
    expected: '-o FILE to create a bundle, or --show FILE to show one',
    seen: out === undefined ? 'neither' : 'both',
    next: 'see the options: azp-fleet bundle --help',
  });
}

/** Creates a bundle for the hosts. Changes no host and does not contact Azure DevOps. */
export async function make(context: Context, input: CommandInput, out: string): Promise<Result> {
  const { cwd, env, clock, signal, root, stdout } = context;
  const file = resolve(cwd, out);
  await checkPlace(file);
  const open = openHosts(context, input);
  const { fleet, hosts } = open;
  const cache = cacheFolder(context);
  const folders = hosts.flatMap(({ dockerfile }) => dockerfile?.folder ?? []);
  const artifacts = await loadArtifacts(cache, folders, clock.wall());
  const caPem = await readCa(fleet.proxy.ca);
  const none = { credential: undefined, registries: undefined, webhooks: new Map() };
  const desired = desiredOf(fleet, { ...none, artifacts, caPem, version, root });
  return connected(context, input, open, overSsh, async (at) => {
    const note = (text: string): void => at.emit({ kind: 'note', text });
    const found = await targetsOf(context, input, at, desired);
    if ('unread' in found) return unreadResult(found.unread, () => at.quiet());
    const { targets } = found;
    const read = (sha256: string): Promise<Buffer> => readFolder(artifacts.folders, sha256);
    const { needs, unprovided } = needsOf(targets, await contextArchive(artifacts.context), read);
    if (unprovided.length > 0) throw cannot(unprovided);
    const { mirrors, proxy } = fleet;
    const manifest = await makeBundle(needs, {
      file,
      tools: { env, signal },
      site: { mirrors, proxy, ...defined({ caPem }) },
      artifacts,
      fetching: { env, signal, note, site: { proxy, caPem, registry: mirrors.npm } },
      download: createFetch({ ...proxy, ...defined({ caPem }) }),
      at: timestamp(clock),
      note,
    });
    await at.quiet();
    return {
      exitCode: ExitCode.ok,
      json: { file, bundle: manifest },
      text: () => bundleText(file, manifest, stdout.columns ?? Infinity),
    };
  });
}

/** Returns the result for unreadable hosts: their problems are already reported, and no bundle is created. */
async function unreadResult(unread: readonly HostOutcome[], quiet: () => Promise<void>): Promise<Result> {
  await quiet();
  const problem: Problem = {
    code: 'bundle.hosts',
    what: `no bundle created: cannot read ${unread.map(({ host }) => host).join(', ')}`,
    next: 'exclude them with --limit, or name their system with --for, e.g. --for debian-12/x86_64',
  };
  return {
    exitCode: ExitCode.hostFailed,
    json: { file: null, bundle: null },
    problems: problemsAmong(unread),
    aside: [problem],
  };
}

/** Checks that the file's folder exists, before minutes of work. */
async function checkPlace(file: string): Promise<void> {
  const folder = join(file, '..');
  const found = await stat(folder).catch((error: unknown) => codeOf(error));
  if (typeof found !== 'string' && found.isDirectory()) return;
  throw usageError({
    code: 'bundle.file',
    what: `the bundle ${file} cannot be written`,
    expected: `a folder ${folder}`,
    seen: typeof found === 'string' ? found : 'not a folder',
    next: 'name another file with -o',
  });
}

async function readFolder(folders: Desired['artifacts']['folders'], sha256: string): Promise<Buffer> {
  const found = [...folders.values()].find(({ artifact }) => artifact.sha256 === sha256);
  if (found === undefined) throw new Error(`no folder ${sha256}`);
  return readFile(found.artifact.file);
}

function cannot(unprovided: readonly Unprovided[]): FleetError {
  const [first] = unprovided;
  const one = unprovided.length === 1 && first !== undefined;
  return usageError({
    code: 'bundle.hosts',
    what: one
      ? `no bundle created: ${first.host}: ${first.what}`
      : 'no bundle created: some hosts are not supported by bundles',
    ...(one ? { next: first.next } : {}),
    details: one
      ? []
      : unprovided.map(({ host, what, next }) => ({ code: 'bundle.hosts', host, what, next })),
  });
}

type Found =
  | { readonly targets: readonly Target[] }
  /** Some hosts could not be read. */
  | { readonly unread: readonly HostOutcome[] };

/** Returns the targets of a bundle: the hosts as read, or fresh hosts of each named system. */
export async function targetsOf(
  context: Context,
  input: CommandInput,
  open: OpenHosts & Connected,
  desired: (host: HostSpec) => Desired,
): Promise<Found> {
  const { options } = input;
  const [named, kernels] = [options.list('for').map(namedSystem), options.list('kernel').map(kernelRelease)];
  if (named.length > 0) {
    const targets = open.hosts.flatMap((host) =>
      named.map(({ system, machine }) => {
        const images = system.names.kernels[machine];
        const needing = needingUnseen(system, machine, kernels, images);
        return { name: host.name, needing, desired: desired(host) };
      }),
    );
    return { targets };
  }
  if (kernels.length > 0)
    throw usageError({
      code: 'usage.arguments',
      what: '--kernel needs --for',
      expected: '--for SYSTEM --kernel RELEASE',
      next: 'leave it out: kernels are read from the hosts',
    });
  return read(context, input, open, desired);
}

async function read(
  context: Context,
  input: CommandInput,
  open: OpenHosts & Connected,
  desired: (host: HostSpec) => Desired,
): Promise<Found> {
  const tools = hostTools(context, input, open);
  const gather: typeof tools.gather = async (session, host) =>
    readForBundle(host.name, await tools.gather(session, host));
  const found = await reachHosts(open.hosts, { ...tools, gather }, { follow: false });
  const reached = found.filter((each) => 'facts' in each);
  for (const { host } of reached) open.emit({ kind: 'host-state', host: host.name, state: 'ok' });
  const unread = found.flatMap((each) => ('facts' in each ? [] : [each]));
  if (unread.length > 0) return { unread };
  return {
    targets: reached.map(({ host, facts }) => {
      const now = readForBundle(host.name, facts);
      return { name: host.name, needing: needingOf(now), now, desired: desired(host) };
    }),
  };
}

function kernelRelease(text: string): string {
  if (/^\d[\w.+~-]{2,80}$/.test(text)) return text;
  throw usageError({
    code: 'usage.option',
    what: '--kernel is not a kernel release',
    expected: 'the output of uname -r on the host, e.g. 6.1.0-50-amd64',
    seen: text,
  });
}

/** Shows the content of a bundle. Contacts no host. */
export async function showBundle({ cwd, signal, stdout }: Context, named: string): Promise<Result> {
  const file = resolve(cwd, named);
  const { manifest } = await openBundle(file, { signal });
  return {
    exitCode: ExitCode.ok,
    json: { file, bundle: manifest },
    text: () => bundleText(file, manifest, stdout.columns ?? Infinity),
  };
}

/** Returns a bundle's description: creation time, systems and content. */
export function bundleText(file: string, manifest: Manifest, width: number): string {
  const sizes = new Map(manifest.members.map(({ sha256, size }) => [sha256, size]));
  const sum = (digests: readonly string[]): string =>
    megabytes(digests.reduce((total, each) => total + (sizes.get(each) ?? 0), 0));
  const { packages, images, agents, runtimes, manager } = manifest;
  const rows = [
    ...packages.map((set) => [
      `${set.system}/${set.machine}`,
      `${set.packages.length} packages${versions(set.packages)}`,
      sum(set.packages.map(({ sha256 }) => sha256)),
    ]),
    ...images.map(({ reference, machine, base, sha256 }) => [
      machine,
      `image ${reference}${base === undefined ? '' : ` on ${base}`}`,
      sum([sha256]),
    ]),
    ...agents.map((each) => [
      each.machine,
      `agent ${each.version}, for slots on the host`,
      sum([each.sha256]),
    ]),
    ...runtimes.map(({ machine, version: node, sha256, zstd = sha256 }) => [
      machine,
      `Node ${node}`,
      sum([...new Set([sha256, zstd])]),
    ]),
    ['all', `manager of azp-fleet ${manifest.version}`, sum([manager.program])],
  ];
  const whole = sum(manifest.members.map(({ sha256 }) => sha256));
  const head = `${file}: ${whole}, created ${manifest.at.slice(0, 16).replace('T', ' ')} UTC by azp-fleet ${manifest.version}`;
  const keys = packages.flatMap((set) =>
    set.keys.map(({ vendor, sha256 }) => `${vendor} ${sha256.slice(0, 16)}`),
  );
  const signatures =
    keys.length === 0
      ? []
      : [`Vendor signatures were verified with the keys ${[...new Set(keys)].join(', ')}.`];
  return [
    fold(head, width),
    '',
    ...columns([['FOR', 'WHAT', 'SIZE'], ...rows], width),
    '',
    ...[...signatures, `The sha256 of every file: azp-fleet bundle --show FILE --json.`].flatMap((line) =>
      fold(line, width),
    ),
    '',
  ].join('\n');
}

/** Returns the packages whose versions matter to users. */
function versions(packages: Manifest['packages'][number]['packages']): string {
  const driver = ['nvidia-driver-cuda', 'nvidia-driver', 'nvidia-smi'].find((name) =>
    packages.some((each) => each.name === name),
  );
  const shown = ['docker-ce', 'nvidia-container-toolkit', ...(driver === undefined ? [] : [driver])].flatMap(
    (name) =>
      packages
        .filter((each) => each.name === name)
        .map(({ version }) => `${name} ${version.replace(/^\d+:/, '').replace(/-[^-]*$/, '')}`),
  );
  return shown.length === 0 ? '' : `, including ${[...new Set(shown)].join(', ')}`;
}

function megabytes(bytes: number): string {
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}
