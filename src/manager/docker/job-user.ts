import { basename } from 'node:path';
import { AgentLayout } from '../../shared/image/layout.ts';
import { type TarEntry, type TarFolder, untar } from '../../shared/base/tar.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';

/** Files and folders that make a uid a user in a container, copied before it starts. */
interface JobUser {
  readonly files: readonly TarEntry[];
  readonly folders: readonly TarFolder[];
}

/** Folders in which an agent creates others, even if the image contains some of them. */
const agentFolders = ['', '/_work', '/_work/_tool', '/_work/_tasks', '/_diag', '/externals'];
/** In .config the agent caches the server's addresses; programs of jobs write to the others. */
const homeFolders = ['', '/.config', '/.cache', '/.local', '/.local/share'];

/**
 * Returns the image's agent user under the slot's uid, with the same name, home and shell, so that whoami, ssh, git and sudo
 * find it. It owns the folders themselves; their content belongs to its group. An image without such a user gets one.
 * `passwd`: the image's /etc/passwd; undefined: it has none that can be read, and gets none. Pure.
 */
export function jobUser(passwd: string | undefined, uid: number): JobUser {
  const lines = passwd?.split('\n').filter((line) => line !== '') ?? [];
  const known = lines.find((line) => line.split(':')[2] === String(AgentLayout.uid));
  const [name, , , , , home = '', shell = ''] = known?.split(':') ?? [freeName(lines)];
  const line = [
    name,
    'x',
    uid,
    AgentLayout.gid,
    '',
    isHome(home) ? home : `${AgentLayout.root}/home`,
    shell === '' ? '/bin/sh' : shell,
  ].join(':');
  const others = lines.filter((each) => each !== known && each.split(':')[2] !== String(uid));
  const content = Buffer.from([...others, line, ''].join('\n'));
  const owner = { uid, gid: AgentLayout.gid };
  return {
    files: passwd === undefined ? [] : [{ path: 'etc/passwd', content, mode: 0o644 }],
    folders: [
      ...agentFolders.map((folder) => `${AgentLayout.root}${folder}`),
      ...(isHome(home) ? homeFolders.map((folder) => `${home}${folder}`) : []),
    ].map((path) => ({ path: `${path.slice(1)}/`, ...owner })),
  };
}

/** True for a home that belongs to one user: `/`, /root and /nonexistent do not. */
function isHome(path: string): boolean {
  if (!/^(?:\/[\w@+-][\w@.+-]*){1,8}$/.test(path)) return false;
  return path === AgentLayout.root || path.indexOf('/', 1) > 0;
}

function freeName(lines: readonly string[]): string {
  const taken = lines.some((line) => line.startsWith(`${AgentLayout.user}:`));
  return taken ? `azp-${AgentLayout.user}` : AgentLayout.user;
}

const passwdFile = '/etc/passwd';
/** Most images in memory: a host uses few at a time. */
const mostImages = 16;

/** Reads the users of each image once, in the first container created from it. */
export class ImageUsers {
  readonly #known = new Map<string, string | undefined>();

  /** Returns its /etc/passwd; undefined: it has none, or it is larger than 1 MiB. */
  async of(
    engine: Pick<Engine, 'getArchive'>,
    { image, container }: { readonly image: string; readonly container: string },
  ): Promise<string | undefined> {
    if (this.#known.has(image)) return this.#known.get(image);
    const text = await readPasswd(engine, container);
    if (this.#known.size >= mostImages) this.#known.clear();
    this.#known.set(image, text);
    return text;
  }
}

async function readPasswd(
  engine: Pick<Engine, 'getArchive'>,
  container: string,
): Promise<string | undefined> {
  try {
    const files = await untar(await engine.getArchive(container, passwdFile));
    return files.get(basename(passwdFile))?.toString('utf8');
  } catch (error) {
    if (isEngineFault(error, 'engine.not-found') || isEngineFault(error, 'engine.file-too-large'))
      return undefined;
    throw error;
  }
}
