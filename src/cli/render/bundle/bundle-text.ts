import type { Manifest } from '../../../fleet/bundle/manifest.ts';
import { fold } from '../lines/fold.ts';
import { columns } from '../table.ts';

/** A bundle in the words of people: when it was made, for which systems, and what is in it. */
export function bundleText(file: string, manifest: Manifest, width: number): string {
  const sizes = new Map(manifest.members.map(({ sha256, size }) => [sha256, size]));
  const sum = (digests: readonly string[]): string =>
    megabytes(digests.reduce((total, each) => total + (sizes.get(each) ?? 0), 0));
  const { packages, images, agents, runtimes, manager } = manifest;
  const rows = [
    ...packages.map((set) => [
      `${set.system}/${set.machine}`,
      `${set.packages.length} packages${versions(set.packages)}`,
      sum(set.packages.map(({ sha256 }) => sha256)),
    ]),
    ...images.map(({ reference, machine, base, sha256 }) => [
      machine,
      `image ${reference}${base === undefined ? '' : ` on ${base}`}`,
      sum([sha256]),
    ]),
    ...agents.map((each) => [
      each.machine,
      `agent ${each.version}, for slots on the host`,
      sum([each.sha256]),
    ]),
    ...runtimes.map((each) => [each.machine, `Node ${each.version}`, sum([each.sha256])]),
    ['all', `manager of azp-fleet ${manifest.version}`, sum([manager.program])],
  ];
  const whole = sum(manifest.members.map(({ sha256 }) => sha256));
  const head = `${file}: ${whole}, made ${manifest.at.slice(0, 16).replace('T', ' ')} UTC by azp-fleet ${manifest.version}`;
  const keys = packages.flatMap((set) =>
    set.keys.map(({ vendor, sha256 }) => `${vendor} ${sha256.slice(0, 16)}`),
  );
  const vouched =
    keys.length === 0
      ? []
      : [`Signatures of vendors were checked with the keys ${[...new Set(keys)].join(', ')}.`];
  return [
    fold(head, width),
    '',
    ...columns([['FOR', 'WHAT', 'SIZE'], ...rows], width),
    '',
    ...[...vouched, `Every file in it has its sha256: azp-fleet bundle --show FILE --json.`].flatMap((line) =>
      fold(line, width),
    ),
    '',
  ].join('\n');
}

/** Those that people ask for by their version. */
function versions(packages: Manifest['packages'][number]['packages']): string {
  const driver = ['nvidia-driver-cuda', 'nvidia-driver', 'nvidia-smi'].find((name) =>
    packages.some((each) => each.name === name),
  );
  const shown = ['docker-ce', 'nvidia-container-toolkit', ...(driver === undefined ? [] : [driver])].flatMap(
    (name) =>
      packages
        .filter((each) => each.name === name)
        .map(({ version }) => `${name} ${version.replace(/^\d+:/, '').replace(/-[^-]*$/, '')}`),
  );
  return shown.length === 0 ? '' : `, among them ${[...new Set(shown)].join(', ')}`;
}

function megabytes(bytes: number): string {
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}
