import { randomBytes } from 'node:crypto';

import type { ImageStatus } from '../../shared/contract/status.ts';
import type { Facts } from '../facts/facts.ts';
import { probeName, type ProbeOptions } from '../../shared/health/probe.ts';
import type { HostSpec } from '../inventory/fleet.ts';

/** What its container and its expected result depend on. */
type SeenForProbe = Pick<Facts, 'gpus' | 'ignoredGpus'> & Pick<Facts['toolkit'], 'cdiSpec'>;

/** Returns the options of this host's probe container and its expected result. `image`: its manager's, if one is known. */
export function probeOptions(
  host: HostSpec,
  { cdiSpec, gpus, ignoredGpus }: SeenForProbe,
  { digest, reference, previous }: Pick<ImageStatus, 'digest' | 'reference' | 'previous'> = {},
): ProbeOptions {
  return {
    // The manager or another user may probe at the same time.
    name: probeName(host.name, randomBytes(4).toString('hex')),
    host: host.name,
    images: [digest ?? reference, previous, host.image].filter((image) => image !== undefined),
    cdiSpec,
    expected: {
      pci: gpus.map(({ address }) => address),
      ignored: ignoredGpus.map(({ address }) => address),
      ...(host.gpus === undefined ? {} : { gpus: host.gpus }),
    },
  };
}
