import type Docker from 'dockerode';
import { FleetError } from '../base/errors.ts';
import { Labels } from '../contract/paths.ts';
import { answer, neededList, neededText, number, text, texts, textsByName, type Answer } from './answers.ts';
import { bounded, deadlines } from './deadline.ts';
import type { Engine, RegistryLogin } from './engine.ts';
import { engineFault, isEngineFault } from './fault.ts';
import { contextStream, followProgress } from './progress.ts';

type Images = Pick<
  Engine,
  'imageId' | 'imageLabel' | 'pull' | 'push' | 'build' | 'listOwnImages' | 'removeImage'
>;

/** What is done with images. */
export function images(docker: Docker): Images {
  async function inspect(reference: string): Promise<Answer | undefined> {
    try {
      return await bounded(`looking for image ${reference}`, deadlines.short, async () =>
        answer(await docker.getImage(reference).inspect()),
      );
    } catch (error) {
      if (isEngineFault(error, 'engine.not-found')) return undefined;
      throw error;
    }
  }
  const imageId = async (reference: string): Promise<string | undefined> =>
    text((await inspect(reference))?.['Id']) || undefined;
  return {
    imageId,
    async imageLabel(reference, label) {
      const { Labels: labels } = answer((await inspect(reference))?.['Config']);
      return textsByName(labels)[label];
    },
    async push(id, reference, onProgress, login) {
      const at = reference.lastIndexOf(':');
      const [repo, tag] = [reference.slice(0, at), reference.slice(at + 1)];
      await bounded(`naming an image ${reference}`, deadlines.short, () =>
        docker.getImage(id).tag({ repo, tag }),
      );
      await bounded(`pushing ${reference}`, deadlines.image, async (abortSignal) => {
        // Empty where there is no login: Docker up to 22 refuses a push without the header.
        const options = { tag, abortSignal, authconfig: login === undefined ? {} : authConfig(login) };
        await followProgress(await docker.getImage(repo).push(options), onProgress);
      });
      const digests = texts((await inspect(reference))?.['RepoDigests']);
      return digests.find((digest) => digest.startsWith(`${repo}@`)) ?? reference;
    },
    async pull(reference, onProgress, login) {
      await bounded(`pulling ${reference}`, deadlines.image, async (abortSignal) => {
        await followProgress(await pullStream(docker, reference, abortSignal, login), onProgress);
      });
    },
    async build(context, options, onProgress) {
      await bounded(`building ${options.tag}`, deadlines.image, async (abortSignal) => {
        const stream = await docker.buildImage(contextStream(context), {
          t: options.tag,
          buildargs: { ...options.args },
          labels: { ...options.labels },
          rm: true,
          forcerm: true,
          ...(options.fresh === true ? { nocache: true } : {}),
          ...(options.lookUp === true ? { pull: true } : {}),
          ...registryConfig(options.logins ?? []),
          abortSignal,
        });
        await followProgress(stream, onProgress);
      });
      const id = await imageId(options.tag);
      if (id === undefined) {
        throw new FleetError({
          code: 'engine.build-failed',
          what: `the build ended without the image ${options.tag}`,
        });
      }
      return id;
    },
    async listOwnImages() {
      return bounded('listing images', deadlines.short, async (abortSignal) =>
        neededList(await docker.listImages({ filters: { label: [Labels.kind] }, abortSignal })).map(
          (image) => ({
            id: neededText(image, 'Id'),
            tags: texts(image['RepoTags']),
            labels: textsByName(image['Labels']),
            created: number(image['Created']),
            bytes: number(image['Size']),
          }),
        ),
      );
    },
    async removeImage(id) {
      await bounded('removing an image', deadlines.normal, (abortSignal) =>
        docker.getImage(id).remove({ abortSignal }),
      ).catch((error: unknown) => {
        if (!isEngineFault(error, 'engine.not-found')) throw engineFault(error, 'removing an image');
      });
    },
  };
}

/** Among the options dockerode would write the password into the request's address, and dockerd that into its log. */
function pullStream(
  docker: Docker,
  reference: string,
  abortSignal: AbortSignal,
  login: RegistryLogin | undefined,
): Promise<NodeJS.ReadableStream> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, stream?: NodeJS.ReadableStream): void =>
      error === null && stream !== undefined ? resolve(stream) : reject(error ?? new Error('no answer'));
    docker.pull(reference, { abortSignal }, done, login && authConfig(login));
  });
}

/** Docker's names for its own registry are older than `docker.io`. */
const hubAddress = 'https://index.docker.io/v1/';

function addressOf({ registry }: RegistryLogin): string {
  return registry === 'docker.io' ? hubAddress : registry;
}

function authConfig(login: RegistryLogin): Docker.AuthConfig {
  return { username: login.user, password: login.secret.reveal(), serveraddress: addressOf(login) };
}

/** What a build may need to fetch what it starts from; dockerode makes a header of it. */
function registryConfig(logins: readonly RegistryLogin[]): Pick<Docker.ImageBuildOptions, 'registryconfig'> {
  if (logins.length === 0) return {};
  const entries = logins.map((login) => [
    addressOf(login),
    { username: login.user, password: login.secret.reveal() },
  ]);
  return { registryconfig: Object.fromEntries(entries) as Docker.RegistryConfig };
}
