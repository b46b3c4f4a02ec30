import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { Secret } from '../../shared/base/secret.ts';
import { readRegistries } from '../../shared/contract/registries.ts';
import type { Engine, RegistryLogin } from '../../shared/engine/engine.ts';
import { outputOf } from '../../shared/engine/fault.ts';
import { canonicalRegistry, registryOf } from '../../shared/image/reference.ts';
import { imageOfStep, registryProblem } from './registry-fault.ts';
import { digestIn, parseManifest, provenIds } from '../../shared/image/digest-proof.ts';

type Read = () => Promise<readonly RegistryLogin[]>;

/** Reads them anew each time, so that a replaced password is taken up without a restart. No file: there are none. */
export function registryReader(path: string, log: Logger): Read {
  return async () => {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return '[]';
      throw unreadable(path, codeOf(error));
    });
    const logins = readRegistries(text);
    if (logins === undefined) throw unreadable(path, 'it is no list of registries with user and secret');
    return Object.entries(logins).map(([registry, { user, secret: clear }]) => {
      const secret = new Secret(clear);
      log.redact(secret);
      return { registry: canonicalRegistry(registry), user, secret };
    });
  };
}

/** The engine, with what each registry is to be told, and with its refusals in plain words. */
export function withRegistries(engine: Engine, read: Read): Engine {
  return {
    ...engine,
    async pull(reference, onProgress) {
      const login = (await read()).find(({ registry }) => registry === registryOf(reference));
      await engine
        .pull(reference, onProgress, login)
        .catch((error: unknown) => explain(error, reference, login?.user));
    },
    async push(id, reference, onProgress) {
      const login = (await read()).find(({ registry }) => registry === registryOf(reference));
      return engine
        .push(id, reference, onProgress, login)
        .catch((error: unknown) => explain(error, reference, login?.user));
    },
    async build(context, options, onProgress) {
      const logins = await read();
      return engine.build(context, { ...options, logins }, onProgress).catch((error: unknown) => {
        const image = imageOfStep(outputOf(error)[0], options.args);
        const known = logins.find(({ registry }) => image !== undefined && registry === registryOf(image));
        return explain(error, image, known?.user);
      });
    },
  };
}

/** Throws what the registry's refusal means, or the error as it is. */
function explain(error: unknown, image: string | undefined, user: string | undefined): never {
  if (image === undefined || !(error instanceof FleetError)) throw error;
  const { seen = '', code } = error.problem;
  const itsOwn = code === 'engine.failed' || code === 'engine.not-found';
  const problem = itsOwn ? registryProblem(seen, { image, user }) : undefined;
  throw problem === undefined ? error : new FleetError(problem, { cause: error.cause });
}

function unreadable(path: string, seen: string): FleetError {
  return new FleetError({
    code: 'manager.registries',
    what: `the passwords of registries cannot be read from ${path}`,
    seen,
    next: 'write it anew with azp-fleet provision',
  });
}

/**
 * The engine, which also finds an image that was loaded from a bundle by the digest in its name: engines forget that. Its
 * manifests lie in the folder, each under its sha256; what they say of the digest they prove by that, and the image is asked
 * for by its own content. No tag ever says which image it is.
 */
export function withBundledImages(engine: Engine, directory: string): Engine {
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
