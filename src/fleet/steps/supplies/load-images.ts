import { FleetError } from '../../../shared/base/errors.ts';
import { failFunction, sh, Raw } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { keptImages } from '../../../shared/contract/status.ts';
import type { Facts } from '../../facts/facts.ts';
import { change, refusal } from '../changes.ts';
import { agentArch } from '../manager-config.ts';
import { upload } from '../manager/parts.ts';
import type { SuppliedImage } from '../offline/supplies.ts';
import type { Desired, Planned, Refusal } from '../step.ts';
import { agentImages } from './agent-images.ts';

/** The agents' images out of the supplies, those that the host's engine does not show. Without supplies: none. */
export function* loadImages(facts: Facts, desired: Desired): Generator<Planned | Refusal> {
  const { supplies } = desired;
  const arch = agentArch(facts.arch);
  if (supplies === undefined || arch === undefined) return;
  for (const reference of wanted(facts, desired, supplies.context)) {
    if (isThere(facts, reference)) continue;
    const image = supplies.image(reference, facts.arch);
    if (image !== undefined) yield load(reference, image, facts);
    else {
      const others = supplies.images(facts.arch);
      const has = others.length === 0 ? 'none' : others.slice(0, 4).join(', ');
      yield refusal(
        'image',
        `the bundle has no image ${reference}, which this host will want; it has ${has}`,
        supplies.again,
      );
    }
  }
}

/** Where no base fits, the manager says so, and nothing is loaded. */
function wanted(facts: Facts, desired: Desired, context: Buffer): readonly string[] {
  const arch = agentArch(facts.arch);
  const noFolder = (): Promise<Buffer> => Promise.reject(new Error('only the name is asked for'));
  try {
    return arch === undefined
      ? []
      : agentImages(facts, desired, arch, context, noFolder).map(({ reference }) => reference);
  } catch (error) {
    if (error instanceof FleetError && error.problem.code === 'image.no-base') return [];
    throw error;
  }
}

function isThere({ docker, manager }: Facts, reference: string): boolean {
  const kept = manager.status === undefined ? [] : keptImages(manager.status);
  return (
    docker.images.includes(reference) ||
    kept.some((image) => image.reference === reference && image.state === 'ready')
  );
}

function load(
  reference: string,
  { archive, proof, unpacked }: SuppliedImage,
  { docker: { rootDir } }: Facts,
): Planned {
  const { sha256, size, part } = archive;
  const file = `${HostPaths.images}/${sha256}.image`;
  const bytes = part?.bytes ?? size;
  return change(
    'image',
    'load',
    {
      title: `load the image ${reference} of the bundle (${Math.ceil(bytes / 1e6)} MB)`,
      why: 'Docker Engine does not have it',
      disturbs: 'nothing',
      unpacks: { folder: rootDir, bytes: unpacked ?? bytes },
    },
    [
      upload(archive, file, 0o600),
      ...(proof?.manifests ?? []).map((each) =>
        upload(each, `${HostPaths.manifests}/${each.sha256}.json`, 0o600),
      ),
      {
        kind: 'run',
        durable: true,
        timeoutS: 3600,
        script: loadScript(file, reference, proof?.ids ?? [reference]),
        writes: [HostPaths.images],
      },
    ],
  );
}

/** `names`: the image is there when the engine knows one of them. */
export function loadScript(file: string, reference: string, names: readonly string[]): string {
  return sh`${new Raw(failFunction)}
words=$(docker load -i ${file} 2>&1) ||
  fail 'the image of the bundle cannot be loaded' ${reference} "$words" 'look at the disk of Docker (docker system df), and run again'
set -- ${names}
for name; do
  if docker image inspect "$name" >/dev/null 2>&1; then
    rm -f ${file}
    exit 0
  fi
done
fail 'the image of the bundle goes by another name' ${reference} "$words" 'make the bundle again'`;
}
