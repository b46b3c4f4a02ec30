import { digestIn } from '../../../../shared/image/digest-proof.ts';
import { registryOf } from '../../../../shared/image/reference.ts';

/** An image that is named by its digest. */
export interface DigestName {
  /** As people name it: `docker.io`. */
  readonly registry: string;
  /** Where it answers. */
  readonly address: string;
  /** Within the registry: `nvidia/cuda`. */
  readonly repository: string;
  /** Hex. */
  readonly digest: string;
}

/** As Docker has it: there a registry may speak in the clear. */
export const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/;

/** Undefined: it is named by a tag. A tag beside the digest says nothing more. */
export function digestName(reference: string): DigestName | undefined {
  const digest = digestIn(reference);
  if (digest === undefined) return undefined;
  const registry = registryOf(reference);
  const [named = ''] = reference.split('@');
  const first = named.split('/')[0] ?? '';
  const isNamed = named.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  const path = (isNamed ? named.slice(first.length + 1) : named).replace(/:[^/]*$/, '');
  if (registry !== 'docker.io') return { registry, address: registry, repository: path, digest };
  const repository = path.includes('/') ? path : `library/${path}`;
  return { registry, address: 'registry-1.docker.io', repository, digest };
}
