import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe("dpkg's status", () => {
  it('has half-installed packages separately, and holds', () => {
    const text = [
      'installed hold docker-ce 5:29.7.2-1~debian.12~bookworm',
      'half-configured install containerd.io 1.7.27-1',
      'config-files deinstall docker.io 20.10.24',
      'installed install libnvidia-ml1 580.95.05-1',
      'not-installed unknown runc ',
    ].join('\n');
    expect(apt.installed.parse(text)).toEqual({
      packages: { 'docker-ce': '5:29.7.2-1~debian.12~bookworm', 'libnvidia-ml1': '580.95.05-1' },
      unfinished: { 'containerd.io': '1.7.27-1' },
      held: ['docker-ce'],
      awaitsReboot: false,
    });
  });

  it('has no hold of a package that is not installed', () => {
    const line = fc
      .tuple(
        fc.constantFrom('installed', 'config-files', ''),
        fc.constantFrom('hold', 'install'),
        fc.string(),
        fc.string(),
      )
      .map((words) => words.join(' '));
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const { packages, held } = apt.installed.parse(lines.join('\n'));
        expect(held.filter((name) => !(name in packages))).toEqual([]);
      }),
    );
  });
});
