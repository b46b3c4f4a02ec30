import { basename } from 'node:path';
import { untar } from '../../shared/base/tar.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';

const file = '/etc/passwd';
/** A host runs a few images at a time. */
const mostKept = 16;

/** The users of images, read once of each in the first container that is made from it. */
export class ImageUsers {
  readonly #known = new Map<string, string | undefined>();

  /** Its /etc/passwd; undefined: there is none, or it is no file of at most 1 MiB. */
  async of(
    engine: Pick<Engine, 'getArchive'>,
    { image, container }: { readonly image: string; readonly container: string },
  ): Promise<string | undefined> {
    if (this.#known.has(image)) return this.#known.get(image);
    const text = await read(engine, container);
    if (this.#known.size >= mostKept) this.#known.clear();
    this.#known.set(image, text);
    return text;
  }
}

async function read(engine: Pick<Engine, 'getArchive'>, container: string): Promise<string | undefined> {
  try {
    const files = await untar(await engine.getArchive(container, file));
    return files.get(basename(file))?.toString('utf8');
  } catch (error) {
    if (isEngineFault(error, 'engine.not-found') || isEngineFault(error, 'engine.file-too-large'))
      return undefined;
    throw error;
  }
}
