import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { codeOf } from '../../shared/base/errors.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import { digestIn, parseManifest, provenIds } from '../../shared/image/digest-proof.ts';

/**
 * The engine, which also finds an image that was loaded from a bundle by the digest in its name: engines forget that. Its
 * manifests lie in the folder, each under its sha256; what they say of the digest they prove by that, and the image is asked
 * for by its own content. No tag ever says which image it is.
 */
export function withBrought(engine: Engine, directory: string): Engine {
  return {
    ...engine,
    async imageId(reference) {
      const known = await engine.imageId(reference);
      const digest = digestIn(reference);
      if (known !== undefined || digest === undefined) return known;
      for (const id of await idsOf(digest, directory)) {
        const found = await engine.imageId(id);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

async function idsOf(digest: string, directory: string): Promise<readonly string[]> {
  const document = (named: string): Promise<Buffer> =>
    readFile(join(directory, `${named}.json`)).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
  const top = await document(digest);
  const said = parseManifest(top.toString());
  const below = said?.kind === 'index' ? said.manifests.map((each) => document(each.digest)) : [];
  return provenIds(digest, [top, ...(await Promise.all(below))]);
}
