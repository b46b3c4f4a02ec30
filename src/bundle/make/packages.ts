import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';

import { scriptFailure } from '../../apply/script-failure.ts';
import { FleetError } from '../../base/errors.ts';
import { foreignLine } from '../../base/foreign-text.ts';
import type { Site } from '../../packages/site.ts';
import { withRegistry } from '../../image/build.ts';
import type { BundledPackages, Member } from '../manifest.ts';
import { docker, type Docker } from './docker.ts';
import type { SystemNeeds } from './needs.ts';
import type { Spool } from './spool.ts';

export interface PackagesOptions {
  readonly tools: Docker;
  readonly spool: Spool;
  readonly site: Site & { readonly caPem?: string };
  readonly note: (text: string) => void;
}

/** As the container writes it. */
const indexName = 'Packages';

/** Whatever it starts reads nothing of its script. */
const started = 'cat >/azp-fleet-script && exec sh -eu /azp-fleet-script </dev/null';

/** So many more packages make another note. */
const noteEach = 50;

/** Fetches the packages of one system in a container of its own image, whose package manager checks their signatures. */
export async function gatherPackages(
  { platform, transactions, hosts }: SystemNeeds,
  { tools, spool, site, note }: PackagesOptions,
): Promise<BundledPackages> {
  const { offline } = platform.packages;
  if (offline === undefined) throw new Error(`${platform.id} has no packages without a source`);
  const { id, versionId, machine } = platform;
  const name = `${id}-${versionId}/${machine}`;
  const image = withRegistry(offline.image(platform), site.mirrors.images);
  note(`${name}: fetching packages in a container of ${image}`);
  const script = offline.gather({ transactions, system: platform, site });
  const members = new Map<string, Member>();
  let index = '';
  let seen = 0;
  await docker(tools, ['run', '--rm', '-i', '--network', 'host', image, 'sh', '-c', started], {
    doing: `run ${image}`,
    input: script,
    onLine: (line) => {
      if (!line.startsWith('Get:')) return;
      seen += 1;
      if (seen % noteEach === 0) note(`${name}: ${seen} files fetched`);
    },
    take: async (output) => {
      index = await unpack(output, spool, members, tools.signal);
    },
    failed: (words) => {
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
  const packages = packagesIn(index, members);
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

/** Files go into the spool, by their paths; the answer is the index. */
async function unpack(
  output: NodeJS.ReadableStream,
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
        // Of its own: who is done with an entry destroys it, and with it the whole archive.
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

/** What the index names, each with the file that came with it. */
function packagesIn(index: string, members: ReadonlyMap<string, Member>): BundledPackages['packages'] {
  return index
    .trim()
    .split('\n\n')
    .map((stanza) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
      const file = field('Filename').replace('./pool/', '');
      const member = members.get(`pool/${file}`);
      if (member === undefined || member.sha256 !== field('SHA256'))
        throw new FleetError({
          code: 'bundle.packages',
          what: `the package ${field('Package')} did not come out of its container whole`,
          next: 'run it again',
        });
      return {
        name: field('Package'),
        version: field('Version'),
        architecture: field('Architecture'),
        file,
        sha256: member.sha256,
      };
    })
    .toSorted((a, b) => (a.file < b.file ? -1 : 1));
}
