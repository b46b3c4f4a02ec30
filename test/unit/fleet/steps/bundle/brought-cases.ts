import { onlyScript } from '../../../../../src/fleet/steps/bundle/agent.ts';
import { loadScript } from '../../../../../src/fleet/steps/bundle/images.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';

const archive = '/var/lib/azp-fleet/images/1a.image';
const [manifest, config] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`];
const load = loadScript(archive, 'registry.lab/x@sha256:1a', [manifest, config]);
const archives = '/var/lib/azp-fleet/archives';
const desired = 'c'.repeat(64);

/** Returns a docker that loads images and has images of these names. */
const docker = (...known: readonly string[]): string => `case $1 in
  load) echo 'Loaded image: x'; echo 'and a warning' >&2 ;;
  image) case " ${known.join(' ')} " in *" $3 "*) echo '[{}]' ;; *) echo "No such image: $3" >&2; echo '[]'; exit 1 ;; esac ;;
esac`;
const loads = `docker load -i ${archive}`;
const inspects = (name: string): string => `docker image inspect ${name}`;

export const broughtSuite: ScriptSuite = {
  name: 'images and agents of a bundle',
  given: (host) => host.file(archive, 'layers').program('docker', docker(manifest)),
  cases: [
    {
      name: 'loads an image, finds it by its manifest, and removes its archive',
      script: load,
      after: { calls: [loads, inspects(manifest)], files: { [archive]: 'gone' } },
    },
    {
      name: 'finds the image by its configuration, too',
      script: load,
      given: (host) => host.program('docker', docker(config)),
      after: { calls: [loads, inspects(manifest), inspects(config)], files: { [archive]: 'gone' } },
    },
    {
      name: "fails if another image was loaded: keeps the archive, and shows the engine's output",
      script: load,
      given: (host) => host.program('docker', docker('x')),
      after: {
        code: 1,
        calls: [loads, inspects(manifest), inspects(config)],
        stderr: `failed: docker load loaded the image of the bundle under another name
expected: registry.lab/x@sha256:1a
seen: Loaded image: x
and a warning
next: make the bundle again
`,
      },
    },
    {
      name: 'fails if the image cannot be loaded',
      script: load,
      given: (host) => host.program('docker', 'echo "no space left on device" >&2; exit 1'),
      after: {
        code: 1,
        calls: [loads],
        stderr: `failed: docker load failed for an image of the bundle
expected: registry.lab/x@sha256:1a
seen: no space left on device
next: check the disk of Docker (docker system df), and run again
`,
      },
    },
    {
      name: 'keeps only the desired agent, without partial uploads',
      script: onlyScript(desired),
      given: (host) =>
        host
          .file(`${archives}/${desired}.tar.gz`)
          .file(`${archives}/${'d'.repeat(64)}.tar.gz`)
          .file(`${archives}/${desired}.tar.gz.1.part`),
      after: {
        files: {
          [`${archives}/${'d'.repeat(64)}.tar.gz`]: 'gone',
          [`${archives}/${desired}.tar.gz.1.part`]: 'gone',
        },
      },
    },
  ],
};
