import { basename } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { FleetError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { withRegistry } from '../../../shared/image/plan.ts';
import { scriptFailure } from '../../apply/execute.ts';
import type { ListedPackage, Mount } from '../../packages/package-manager.ts';
import type { Site } from '../../packages/vendors.ts';
import type { BundledPackages, Member } from '../manifest.ts';
import { type Docker, runContainer } from './docker.ts';
import type { SystemNeeds } from './needs.ts';
import type { Spool } from './spool.ts';

export interface PackagesOptions {
  readonly tools: Docker;
  readonly spool: Spool;
  readonly site: Site & { readonly caPem?: string };
  readonly note: (text: string) => void;
}

/** The script is a file, so that no command of it reads the script from stdin. */
const started = 'cat >/azp-fleet-script && exec sh -eu /azp-fleet-script </dev/null';

/** Files between two notes of progress. */
const noteEach = 50;

/** Fetches the packages of one system in a container of its image, whose package manager checks the signatures. */
export async function gatherPackages(
  { platform, transactions, hosts }: SystemNeeds,
  { tools, spool, site, note }: PackagesOptions,
): Promise<BundledPackages> {
  const { offline } = platform.packages;
  const { id, versionId, machine } = platform;
  const name = `${id}-${versionId}/${machine}`;
  const image = withRegistry(platform.image(versionId), site.mirrors.images);
  note(`${name}: fetching packages in a container of ${image}`);
  const script = offline.gather({ transactions, system: platform, site });
  const members = new Map<string, Member>();
  const indexName = basename(offline.index);
  let index = '';
  let seen = 0;
  const mounts = (platform.subscription ?? []).map(mountOption);
  const options = ['-i', '--network', 'host', ...mounts];
  await runContainer(tools, options, image, ['sh', '-c', started], {
    doing: `run ${image}`,
    input: script,
    onLine: (line) => {
      if (!offline.fetches.test(line)) return;
      seen += 1;
      if (seen % noteEach === 0) note(`${name}: ${seen} files fetched`);
    },
    take: async (output) => {
      index = await unpack(output, indexName, spool, members, tools.signal);
    },
    failed: (words) => {
      if (mounts.length > 0 && words.includes('bind source path does not exist')) return unsubscribed(name);
      const { problem } = scriptFailure(`fetch the packages of ${name}`, 1, words);
      const hostNames = hosts.length > 3 ? `${hosts.slice(0, 3).join(', ')}, …` : hosts.join(', ');
      const what = `${problem.what} (packages of ${name}, for ${hostNames})`;
      return new FleetError({
        ...problem,
        code: 'bundle.packages',
        what,
        seen: foreignLine(problem.seen ?? words),
      });
    },
  });
  const indexMember = await spool.add([Buffer.from(index)], tools.signal);
  const packages = withMembers(offline.listed(index), members);
  note(`${name}: ${packages.length} packages`);
  return {
    system: `${id}-${versionId}`,
    machine,
    index: indexMember.sha256,
    keys: [...members].flatMap(([path, { sha256 }]) =>
      path.startsWith('keys/') ? [{ vendor: path.slice('keys/'.length), sha256 }] : [],
    ),
    packages,
  };
}

function mountOption({ source, target }: Mount): string {
  return `--mount=type=bind,readonly,source=${source},target=${target}`;
}

function unsubscribed(name: string): FleetError {
  return new FleetError({
    code: 'bundle.packages',
    what: `the packages of ${name} need a subscription, and the machine with Docker has none`,
    expected: 'a system with a subscription of the same vendor',
    next: 'make the bundle on such a system, or set DOCKER_HOST to the Docker Engine of one',
  });
}

/** Adds the archive's files to the spool, and returns the index. */
async function unpack(
  output: NodeJS.ReadableStream,
  indexName: string,
  spool: Spool,
  members: Map<string, Member>,
  signal: AbortSignal,
): Promise<string> {
  let index = '';
  const reader = extract();
  const take = async (name: string, isFile: boolean, content: Readable): Promise<void> => {
    if (!isFile) content.resume();
    else if (name === indexName) index = await text(content);
    else members.set(name.replace(/^\.\//, ''), await spool.add(content, signal));
  };
  reader.on('entry', ({ name, type }, content, next) => {
    void (async () => {
      try {
        // A separate stream: a reader that ends destroys its stream, which would destroy the archive.
        await take(name, type === 'file', content.pipe(new PassThrough()));
        next();
      } catch (error) {
        next(error);
      }
    })();
  });
  await pipeline(output, reader, { signal });
  return index;
}

/** Returns the packages of the index. Throws where a file is missing or has another digest. */
function withMembers(
  listed: readonly ListedPackage[],
  members: ReadonlyMap<string, Member>,
): BundledPackages['packages'] {
  const lost = listed.find(({ file, sha256 }) => members.get(`pool/${file}`)?.sha256 !== sha256);
  if (lost !== undefined)
    throw new FleetError({
      code: 'bundle.packages',
      what: `the package ${lost.name} came out of its container damaged or not at all`,
      next: 'run it again',
    });
  return listed.toSorted((a, b) => (a.file < b.file ? -1 : 1));
}
