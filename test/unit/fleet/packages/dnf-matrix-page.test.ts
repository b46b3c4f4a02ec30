import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { columns, rows, withDnfMatrix, type Column } from '../../../../scripts/dnf-matrix.ts';
import { systems } from '../../../../src/fleet/packages/systems.ts';
import { enterpriseCases } from '../steps/enterprise-cases.ts';
import { cannotBe, matrix } from '../steps/matrix-cases.ts';
import { expectSeenInLab } from './lab-proof.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/dnf/bundle');
const page = readFileSync(join(import.meta.dirname, '../../../../docs/systems.md'), 'utf8');
const names = Object.keys(columns) as Column[];
const cells = rows.flatMap(({ what, proofs }) =>
  proofs.map((proof, at) => [what, names[at] ?? 'Rocky 9', proof] as const),
);
const systemsOf = (column: Column): readonly string[] => columns[column];
const isRefusal = (note: string | undefined): boolean => note?.startsWith('refused') === true;

describe("dnf's matrix in docs/systems.md", () => {
  it('is as "npm run docs" writes it', () => {
    expect(page).toBe(withDnfMatrix(page));
  });

  it('has a column for each system with dnf, and a cell for each row in it', () => {
    const supported = systems
      .filter(({ packages }) => packages.name === 'dnf')
      .map(({ id, versionId }) => `${id} ${versionId}`);
    expect(names.flatMap(systemsOf).toSorted()).toEqual(supported.toSorted());
    expect(rows.filter(({ proofs }) => proofs.length !== names.length).map(({ what }) => what)).toEqual([]);
  });

  it.each(cells)('claims what is proven: %s, on %s', (_, column, proof) => {
    if (proof === 'text only') return;
    if ('why' in proof) {
      expect(proof.why.length).toBeGreaterThan(20);
      return;
    }
    if ('lab' in proof) {
      expect(column).toBe('Rocky 9');
      expectSeenInLab(proof);
      return;
    }
    if ('scripts' in proof) {
      expect(proof.scripts).not.toEqual([]);
      for (const name of proof.scripts) expect(existsSync(join(fixtures, `${name}.txt`)), name).toBe(true);
      return;
    }
    for (const system of systemsOf(column)) {
      const refusals = 'history' in proof ? byHistory(system, proof.history) : byCase(system, proof.planned);
      expect(refusals, `${system}: ${JSON.stringify(proof)}`).toEqual([isRefusal(proof.note)]);
    }
  });

  it('marks no history as impossible that has a plan', () => {
    const said = cells.filter(([, , proof]) => typeof proof === 'object' && 'why' in proof);
    const known = Object.keys(cannotBe).filter((name) =>
      names.flatMap(systemsOf).some((one) => name.startsWith(one)),
    );
    expect(known).toEqual(['amzn 2023, conflicting']);
    expect(said.map(([what]) => what)).toEqual(['has Docker packages under older names', 'needs EPEL']);
  });
});

/** Returns for each such plan whether it refuses. */
function byHistory(system: string, history: string): boolean[] {
  return matrix
    .filter((one) => one.system === system && one.history === history)
    .map(({ refused }) => refused !== undefined);
}

/** Tells whether the name contains a release of the system: `rocky 9.5, fresh`. */
function byCase(system: string, rest: string): boolean[] {
  return enterpriseCases
    .filter(([name]) => name.replace(/^(\w+ \d+)\.\d+/, '$1') === `${system}${rest}`)
    .map(([, , , said]) => said.some((line) => line.startsWith('refused: ')));
}
