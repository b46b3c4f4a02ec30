import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type { HostOutcome } from '../../../fleet/apply/outcome.ts';
import { contextArchive } from '../../../fleet/artifacts/upload-sources.ts';
import { loadArtifacts } from '../../../fleet/artifacts/load.ts';
import { createFetch } from '../../../shared/azure/http/proxy.ts';
import type { Context } from '../../../shared/base/context.ts';
import { defined } from '../../../shared/base/objects.ts';
import { codeOf, ExitCode, type FleetError, usageError, type Problem } from '../../../shared/base/errors.ts';
import { timestamp } from '../../../shared/base/clock.ts';
import { version } from '../../../shared/base/version.ts';
import { makeBundle } from '../../../fleet/bundle/make/make.ts';
import { needsOf, type Unprovided } from '../../../fleet/bundle/make/needs.ts';
import { desiredOf } from '../../../fleet/plan/desired.ts';
import { bundleText } from '../../render/bundle/bundle-text.ts';
import type { Desired } from '../../../fleet/steps/step.ts';
import type { CommandInput } from '../../command.ts';
import { readCa } from '../../run/fleet.ts';
import { openHosts } from '../../run/hosts.ts';
import { connected, overSsh } from '../../run/with-hosts.ts';
import { problemsAmong, type Result } from '../../result.ts';
import { targetsOf } from './targets.ts';

/** Makes a bundle for the hosts. Nothing is changed on any of them, and Azure DevOps is not asked. */
export async function make(context: Context, input: CommandInput, out: string): Promise<Result> {
  const { cwd, env, home, clock, signal, root, stdout } = context;
  const file = resolve(cwd, out);
  await checkPlace(file);
  const open = openHosts(context, input);
  const { fleet, hosts } = open;
  const cache = join(env['XDG_CACHE_HOME'] ?? join(home, '.cache'), 'azp-fleet');
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

/** Their problems have been told; half a bundle is none. */
async function unreadResult(unread: readonly HostOutcome[], quiet: () => Promise<void>): Promise<Result> {
  await quiet();
  const problem: Problem = {
    code: 'bundle.hosts',
    what: `no bundle was made: ${unread.map(({ host }) => host).join(', ')} could not be read`,
    next: 'leave them out with --limit, or say what they are with --for, e.g. --for debian-12/x86_64',
  };
  return {
    exitCode: ExitCode.hostFailed,
    json: { file: null, bundle: null },
    problems: problemsAmong(unread),
    aside: [problem],
  };
}

/** Before minutes of work: the file's folder is there. */
async function checkPlace(file: string): Promise<void> {
  const folder = join(file, '..');
  const found = await stat(folder).catch((error: unknown) => codeOf(error));
  if (typeof found !== 'string' && found.isDirectory()) return;
  throw usageError({
    code: 'bundle.file',
    what: `the bundle ${file} cannot be written`,
    expected: `a folder ${folder}`,
    seen: typeof found === 'string' ? found : 'something else',
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
      ? `no bundle was made: ${first.host}: ${first.what}`
      : 'no bundle was made: some hosts cannot be provided for',
    ...(one ? { next: first.next } : {}),
    details: one
      ? []
      : unprovided.map(({ host, what, next }) => ({ code: 'bundle.hosts', host, what, next })),
  });
}
