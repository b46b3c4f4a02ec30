import type { Release } from '../../../../../src/fleet/steps/driver/runfile-releases.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

export const own = '/var/lib/azp-fleet/runfile';
export const name = 'NVIDIA-Linux-x86_64-580.95.05.run';
export const file = `${own}/fetched/${name}`;
/** The content of the .run file. No test runs it, because it would leave the scratch folder. */
export const runfile = 'a .run file\n';
export const release: Release = {
  version: '580.95.05',
  sha256: sha256(runfile),
  file: name,
  addresses: [`https://first,lab/${name}`, `https://second/${name}`],
};
export const there = (host: ScratchHost, text = runfile): ScratchHost => host.file(file, text);
