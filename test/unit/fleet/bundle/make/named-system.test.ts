import { describe, expect, it } from 'vitest';

import { namedSystem } from '../../../../../src/fleet/bundle/make/named-system.ts';
import { systems } from '../../../../../src/fleet/packages/systems.ts';

describe('a system that is named', () => {
  it.each([
    ['debian-12/x86_64', 'debian', '12', 'x86_64'],
    ['ubuntu-24.04', 'ubuntu', '24.04', 'x86_64'],
    ['rhel-9/x86_64', 'rhel', '9', 'x86_64'],
    ['rocky-9.5/x86_64', 'rocky', '9.5', 'x86_64'],
    ['almalinux-10.0/aarch64', 'almalinux', '10.0', 'aarch64'],
    ['ol-8.10', 'ol', '8.10', 'x86_64'],
    ['amzn-2023/aarch64', 'amzn', '2023', 'aarch64'],
  ])('%s', (text, id, versionId, machine) => {
    expect(namedSystem(text)).toMatchObject({ system: { id, versionId }, machine });
  });

  it('may be any that is supported', () => {
    for (const { id, versionId } of systems)
      expect(namedSystem(`${id}-${versionId}`)).toMatchObject({ system: { id, versionId } });
  });

  it.each([
    'rocky-7',
    'rocky-90',
    'rocky-9.',
    'rocky',
    'ubuntu-24',
    'rocky-9/x86_64/more',
    'rocky-9/sparc',
    'debian-11',
  ])('%s is none, and all are named', (text) => {
    expect(() => namedSystem(text)).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({
          seen: text,
          expected: expect.stringContaining('rocky-9, almalinux-9, ol-9') as string,
        }) as unknown,
      }) as Error,
    );
  });
});
