import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { systems, type Distribution } from '../../../../src/fleet/packages/systems.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { lines, plan as planOf, type afterwards as afterwardsOf } from '../steps/host-stack-plan.ts';

const root = join(import.meta.dirname, '../../../..');

/** The code without comments and sources of names. */
const code = globSync('src/**/*.ts', { cwd: root }).map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .replaceAll(/source:\s*(['"]).*?\1,/gs, ''),
}));

/** Other files that name a release, with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  'src/shared/base/support-dates.ts': 'its table says until when each release is supported',
  'src/fleet/packages/dnf/headers.ts': 'Amazon Linux has its own kernel versions, and their releases name it',
};

/** Returns names that only this release has. */
function namesOf({ id, versionId, nvidia, docker }: Distribution): string[] {
  const all = [nvidia.folder, docker.release, ...(versionId.includes('.') ? [`${id} ${versionId}`] : [])];
  return all.filter((name) => /^[a-z]/.test(name));
}

describe('a release of a system', () => {
  it.each(systems.map((row) => [`${row.id} ${row.versionId}`, row] as const))(
    '%s is a row in one file, and no other file names it',
    (_, row) => {
      for (const name of namesOf(row)) {
        const word = new RegExp(`(?<![\\w-])${name.replaceAll('.', String.raw`\.`)}(?![\\w-])`);
        const files = code.filter(({ text }) => word.test(text)).map(({ file }) => file);
        expect(
          files.filter((file) => file !== 'src/fleet/packages/systems.ts' && !(file in elsewhere)),
          name,
        ).toEqual([]);
      }
    },
  );
});

describe.each([
  ['ubuntu', '28.04', '24.04'],
  ['debian', '14', '13'],
  ['rocky', '11', '10'],
])('%s %s, added by one row like that of %s', (id, versionId, like) => {
  let plan: typeof planOf;
  let afterwards: typeof afterwardsOf;
  const facts = (release: string) =>
    factsOf({ os: { id, versionId: release, idLike: [], codename: '', pretty: `${id} ${release}` } });

  beforeAll(async () => {
    const before = systems.find((row) => row.id === id && row.versionId === like);
    if (before === undefined) throw new Error(`${id} ${like} is in the table`);
    const row = {
      ...before,
      versionId,
      nvidia: { folder: 'nextone' },
      docker: { ...before.docker, release: 'next' },
    };
    vi.doMock(import('../../../../src/fleet/packages/systems.ts'), async (original) => ({
      ...(await original()),
      systems: [...systems, row],
    }));
    vi.resetModules();
    ({ plan, afterwards } = await import('../steps/host-stack-plan.ts'));
  });
  afterAll(() => {
    vi.doUnmock('../../../../src/fleet/packages/systems.ts');
    vi.resetModules();
  });

  it('was not supported before', () => {
    expect(lines(planOf(facts(versionId), desiredOf()))[0]).toContain('is not supported');
  });

  it('has the plan of the similar system with its sources, and a second plan is empty', () => {
    const found = plan(facts(versionId), desiredOf());
    expect(lines(found)).toEqual(lines(planOf(facts(like), desiredOf())));
    const scripts = found.flatMap((item) =>
      'actions' in item ? item.actions.map((action) => (action.kind === 'run' ? action.script : '')) : [],
    );
    expect(scripts.join('\n')).toContain('/nextone/');
    expect(plan(afterwards(facts(versionId), desiredOf()), desiredOf())).toEqual([]);
  });
});
