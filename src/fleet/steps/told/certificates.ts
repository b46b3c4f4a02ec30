import { X509Certificate } from 'node:crypto';

import type { Facts } from '../../facts/facts.ts';
import type { Detail } from '../change.ts';
import { item, itemDetail, listed } from './items.ts';

/** Of one file that are read: a site has one or a few. */
const mostCertificates = 50;

/** Which certificate authorities a file names now, and which it will. Nothing where what it says now is not known. */
export function certificateDetails(facts: Facts, path: string, pem: string): readonly Detail[] {
  const exists = facts.files[path] !== undefined;
  const before = facts.texts[path];
  if (exists && before === undefined) return [];
  const told = item('certificate authority', before && authorities(before), authorities(pem)).map(itemDetail);
  return told.length > 0 || before === pem
    ? told
    : [{ marker: 'change', text: 'certificate authority: the same names' }];
}

/** `Lab CA until 2031-01-01`, each by comma. */
function authorities(pem: string): string {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return listed(blocks.slice(0, mostCertificates).map(authority), 5);
}

function authority(block: string): string {
  try {
    const { subject, validToDate } = new X509Certificate(block);
    const name = /^(?:CN|O)=(.*)$/m.exec(subject.split('\n').toReversed().join('\n'))?.[1] ?? 'no name';
    return `${name} until ${validToDate.toISOString().slice(0, 10)}`;
  } catch {
    return 'an unreadable certificate';
  }
}
