import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { columns, rows, withHostMatrix } from '../../../../scripts/host-matrix.ts';
import { systems } from '../../../../src/fleet/packages/systems.ts';
import { expectSeenInLab } from './lab-proof.ts';

const root = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(root, 'docs/systems.md'), 'utf8');
const names = Object.keys(columns);
const cells = rows.flatMap(({ what, proofs }) =>
  proofs.map((proof, at) => [what, names[at] ?? 'no system', proof] as const),
);

/** Systems of the lab's hosts, for columns whose system is not imitated. */
const releases: Partial<Record<string, string>> = { 'Debian 12': 'bookworm', 'Debian 13': 'trixie' };

/** Returns the releases of the hosts that a test file starts or shares. */
function releasesIn(file: string): string[] {
  const text = readFileSync(join(root, 'test/lab', file), 'utf8');
  const shared = /(?:provisioned|bare)Fleet\(/.test(text)
    ? readFileSync(join(root, 'practice/lab/provisioned.ts'), 'utf8')
    : '';
  return [...`${text}${shared}`.matchAll(/release: '(\w+)'/g)].map(([, release = '']) => release);
}

describe('the matrix in docs/systems.md', () => {
  it('is as "npm run docs" writes it', () => {
    expect(page).toBe(withHostMatrix(page));
  });

  it('has each system with apt in a column, and no cell without a column', () => {
    const supported = systems
      .filter(({ packages }) => packages.name === 'apt')
      .map(({ id, versionId }) => `${id} ${versionId}`);
    expect(Object.values(columns).flatMap((column) => column.systems)).toEqual(supported);
    expect(rows.filter(({ proofs }) => proofs.length > names.length).map(({ what }) => what)).toEqual([]);
  });

  it.each(cells)('claims what is proven: %s, on %s', (_, system, proof) => {
    if (proof === 'text only') return;
    if ('lab' in proof) {
      expectSeenInLab(proof);
      const [file] = proof.lab;
      const release = releases[system];
      if (release === undefined) expect(proof.note).toContain('dressed up');
      else expect(releasesIn(file)).toContain(release);
      return;
    }
    const folder = columns[system]?.tables;
    expect(folder, `${system} has no package lists for a resolver`).toBeDefined();
    const tables = globSync(`test/fixtures/apt/tables/${folder}/${proof.simulated}*.txt`, { cwd: root });
    expect(tables, proof.simulated).not.toEqual([]);
    // A cell says "refused" exactly if its table does.
    const refusals = tables.filter((file) => /^refused: /m.test(readFileSync(join(root, file), 'utf8')));
    expect(refusals.length > 0).toBe(proof.note?.startsWith('refused') === true);
  });
});
