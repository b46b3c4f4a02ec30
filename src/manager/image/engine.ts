import { join } from 'node:path';
import { codeOf, FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { Secret } from '../../shared/base/secret.ts';
import { readRegistries } from '../../shared/contract/registries.ts';
import type { Engine, RegistryLogin } from '../../shared/engine/engine.ts';
import { outputOf } from '../../shared/engine/fault.ts';
import { canonicalRegistry, registryOf } from '../../shared/image/reference.ts';
import { readHead, readText } from '../machine/files.ts';
import { imageOfStep, registryProblem } from './registry-fault.ts';
import { digestIn, parseManifest, provenIds } from '../../shared/image/digest-proof.ts';

type ReadLogins = () => Promise<readonly RegistryLogin[]>;

/** Returns a reader of the registry logins. It reads the file at each call, so that a new password needs no restart. */
export function registryReader(path: string, log: Logger): ReadLogins {
  return async () => {
    const text = await readText(path).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return '[]';
      throw unreadable(path, codeOf(error));
    });
    const logins = readRegistries(text);
    if (logins === undefined) throw unreadable(path, 'not a list of registries with user and secret');
    return Object.entries(logins).map(([registry, { user, secret: clear }]) => {
      const secret = new Secret(clear);
      log.redact(secret);
      return { registry: canonicalRegistry(registry), user, secret };
    });
  };
}

/** Returns the engine with registry logins and with clear errors of registries. */
export function withRegistries(engine: Engine, readLogins: ReadLogins): Engine {
  return {
    ...engine,
    async pull(reference, onProgress) {
      const login = (await readLogins()).find(({ registry }) => registry === registryOf(reference));
      await engine
        .pull(reference, onProgress, login)
        .catch((error: unknown) => explain(error, reference, login?.user));
    },
    async push(id, reference, onProgress) {
      const login = (await readLogins()).find(({ registry }) => registry === registryOf(reference));
      return engine
        .push(id, reference, onProgress, login)
        .catch((error: unknown) => explain(error, reference, login?.user));
    },
    async build(context, options, onProgress) {
      const logins = await readLogins();
      return engine.build(context, { ...options, logins }, onProgress).catch((error: unknown) => {
        const image = imageOfStep(outputOf(error)[0], options.args);
        const known = logins.find(({ registry }) => image !== undefined && registry === registryOf(image));
        return explain(error, image, known?.user);
      });
    },
  };
}

/** Throws the registry problem behind an error of the engine, or else the error itself. */
function explain(error: unknown, image: string | undefined, user: string | undefined): never {
  if (image === undefined || !(error instanceof FleetError)) throw error;
  const { seen = '', code } = error.problem;
  const isUnexplained = code === 'engine.failed' || code === 'engine.not-found';
  const problem = isUnexplained ? registryProblem(seen, { image, user }) : undefined;
  throw problem === undefined ? error : new FleetError(problem, { cause: error.cause });
}

function unreadable(path: string, seen: string): FleetError {
  return new FleetError({
    code: 'manager.registries',
    what: `the passwords of registries cannot be read from ${path}`,
    seen,
    next: 'run `azp-fleet provision`, which writes the file again',
  });
}

/**
 * Returns the engine with images from bundles: it also finds these by the digest in a reference, which the engine does not
 * keep when it loads an image. The folder has their manifests, named by sha256. A manifest proves which image id belongs to a
 * digest; tags are never used for that.
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
  // A longer file has another digest without its end, and proves nothing.
  const manifest = (sha256: string): Promise<Buffer> =>
    readHead(join(directory, `${sha256}.json`), readerBounds.imageManifest.bytes).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
  const top = await manifest(digest);
  const parsed = parseManifest(top.toString());
  const below = parsed?.kind === 'index' ? parsed.manifests.map((each) => manifest(each.digest)) : [];
  return provenIds(digest, [top, ...(await Promise.all(below))]);
}
