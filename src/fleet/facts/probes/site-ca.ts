import { packageManagers } from '../../packages/distribution.ts';
import type { FactProbe } from '../probe.ts';

/** The site's own certificate authority lies on the host and is among those that its programs trust. */
export const siteCaProbe: FactProbe<boolean> = {
  name: 'site-ca',
  script: () => packageManagers.map(({ trust }) => `if ${trust.trusted}; then echo trusted; fi`).join('\n'),
  parse: ({ stdout }) => stdout.startsWith('trusted'),
};
