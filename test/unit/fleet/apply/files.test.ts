import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import fc from 'fast-check';

import { FleetError, type Problem } from '../../../../src/shared/base/errors.ts';
import { planText } from '../../../../src/cli/render/plan.ts';
import { anyJson, damagedJson } from '../../../support/any-json.ts';
import type { FleetPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import { failedHosts, journalFile, readJournal, writeJournal } from '../../../../src/fleet/apply/journal.ts';
import {
  announcedBy,
  checkPlanFile,
  readPlanFile,
  writePlanFile,
} from '../../../../src/fleet/apply/saved-plan.ts';
import { change, shape } from '../plan/changes.ts';

const drawn = { scripts: true, diff: true, color: false, unread: { hosts: 0, pools: [] }, width: 80 };
const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the journal of the last run', () => {
  const file = journalFile(folder, '/home/ann/inventory.yaml');
  const run = {
    inventory: '/home/ann/inventory.yaml',
    at: '2026-11-21T00:00:00Z',
    command: 'azp-fleet provision',
  };
  const sick = { state: 'failed', cause: 'no GPU', next: 'reboot' } as const;

  it('names the failed hosts, also those of an earlier run', async () => {
    await writeJournal(file, run, [
      { host: 'down', state: 'unreachable', changes: 0 },
      { host: 'well', state: 'ok', changes: 0 },
    ]);
    await writeJournal(file, run, [
      { host: 'sick', state: 'changed', changes: 3, verdict: sick },
      { host: 'cut', state: 'skipped', changes: 1 },
    ]);
    expect(await failedHosts(file)).toEqual(['down', 'sick', 'cut']);
    await writeJournal(file, run, [{ host: 'down', state: 'changed', changes: 9 }]);
    expect(await failedHosts(file)).toEqual(['sick', 'cut']);
    const problem: Problem = {
      code: 'wave.stopped',
      what: 'not begun because the canary sick failed: no GPU',
    };
    await writeJournal(file, run, [{ host: 'behind', state: 'skipped', changes: 0, problem }]);
    expect(await failedHosts(file)).toEqual(['sick', 'cut', 'behind']);
    expect((await readJournal(file))?.hosts.at(-1)).toEqual({ host: 'behind', state: 'skipped', problem });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is overwritten by the next run, whatever it contains', async () => {
    const journal = {
      schema: 1,
      ...run,
      hosts: [{ host: 'a', state: 'failed', problem: { code: 'x', what: 'y' } }],
    };
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyJson, damagedJson(journal)), async (text) => {
        writeFileSync(file, text);
        const left = await failedHosts(file).catch((error: unknown) => error);
        expect(Array.isArray(left) || left instanceof FleetError).toBe(true);
        await writeJournal(file, run, [{ host: 'sick', state: 'failed', changes: 0 }]);
        expect(await failedHosts(file)).toContain('sick');
      }),
      { numRuns: 60 },
    );
  });

  it('is undefined if it cannot be read', async () => {
    const broken = join(folder, 'broken.json');
    writeFileSync(broken, '{');
    expect(await readJournal(broken)).toBeUndefined();
    await expect(failedHosts(join(folder, 'none.json'))).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe('a saved plan', () => {
  const plan: FleetPlan = {
    schema: 1,
    version: '0.2.0',
    at: '2026-11-21T00:00:00Z',
    inventory: '/home/ann/inventory.yaml',
    inventoryDigest: 'abc',
    fleet: [],
    hosts: [],
  };
  const description = {
    marker: 'change',
    details: [
      { marker: 'add', text: 'a dataset', effect: 'agents take it up' },
      { marker: 'remove', text: 'another' },
    ],
    texts: [{ path: '/etc/x', lines: ['@@ -1,1 +1,1 @@', '-a', '+b'] }],
  } as const;
  const bound = { removes: ['docker.io'], downgrades: ['libc6'] };
  const full: FleetPlan = {
    ...plan,
    fleet: [
      {
        id: 'pool.queue.gpu.vision',
        title: 'make pool gpu known',
        why: 'it is not',
        action: { kind: 'create-queue', pool: 'gpu', project: 'vision' },
      },
    ],
    hosts: [
      {
        host: 'h200-1',
        factsDigest: 'f',
        facts: { kernel: '012345678901' },
        stages: [
          [
            { ...change('load'), ...description, bound },
            change('reboot', { reboot: true, disturbs: 'machine' }),
          ],
          [{ ...shape('toolkit'), ...description, bound, why: 'unknown' }],
        ],
        packages: {
          'docker-install-0': {
            kind: 'value',
            value: {
              version: '29.7.2',
              removes: [{ name: 'docker.io', from: '20.10' }],
              installs: [{ name: 'docker-ce', to: '29.7.2' }],
              upgrades: [{ name: 'libc6', from: '1', to: '2' }],
              downgrades: [],
              kept: ['gdm3'],
            },
          },
          'driver-install-0': { kind: 'not-offered', offered: ['580'] },
          'toolkit-install-0': { kind: 'impossible', what: 'no way', next: 'look' },
          'toolkit-install-1': { kind: 'unknown', why: 'no answer' },
        },
        refusals: [{ step: 'driver', what: 'no', next: 'wait' }],
      },
    ],
    waves: {
      maxUnavailable: '2',
      maxFailures: '5%',
      proveFirst: ['left'],
      waves: [{ canary: true, hosts: ['h200-1'] }],
      emptied: ['solo'],
      held: [{ host: 'last', what: 'its pool has no other', next: 'bring it back' }],
    },
  };
  const file = join(folder, 'friday.json');
  const expected = { version: '0.2.0', inventoryDigest: 'abc' };

  it('is read as it was saved', async () => {
    await writePlanFile(file, plan);
    expect(await readPlanFile(file, expected)).toEqual(plan);
    await writePlanFile(file, full);
    expect(await readPlanFile(file, expected)).toEqual(full);
  });

  it.each([0o600, 0o640, 0o644, 0o666, 0o777])(
    'is readable by its owner only, over one of mode %o',
    async (mode) => {
      const there = join(folder, 'there.json');
      writeFileSync(there, 'x'.repeat(1 << 20));
      chmodSync(there, mode);
      await writePlanFile(there, plan);
      expect((statSync(there).mode & 0o777).toString(8)).toBe('600');
      expect(await readPlanFile(there, expected)).toEqual(plan);
      rmSync(there);
    },
  );

  it('is readable by its owner only if it is new, and can be written to a device', async () => {
    const there = join(folder, 'new-one.json');
    await writePlanFile(there, plan);
    expect((statSync(there).mode & 0o777).toString(8)).toBe('600');
    rmSync(there);
    const before = statSync('/dev/null').mode;
    await writePlanFile('/dev/null', plan);
    expect(statSync('/dev/null').mode).toBe(before);
  });

  it.each<[string, (text: string) => string]>([
    ['no text', (text) => text.replace('"a dataset"', '{}')],
    ['an unknown marker', (text) => text.replace('"marker": "remove"', '"marker": "boot"')],
    ['an unknown action', (text) => text.replace('"kind": "reboot"', '"kind": "halt"')],
    [
      'more details than a plan may have',
      (text) =>
        text.replace(
          '"marker": "remove",',
          `"marker": "remove", "text": "" }, ${'{ "marker": "add", "text": "" }, '.repeat(500)} { "marker": "add",`,
        ),
    ],
  ])('that was edited is refused: %s', async (_, damage) => {
    await writePlanFile(file, full);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, damage(text));
    expect(damage(text)).not.toBe(text);
    expect(JSON.parse(damage(text))).toBeDefined();
    await expect(readPlanFile(file, expected)).rejects.toMatchObject({ problem: { code: 'plan.file' } });
  });

  it('with any content is a plan or an error with a code', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyJson, damagedJson(full)), async (text) => {
        writeFileSync(file, text);
        const read = await readPlanFile(file, expected).catch((error: unknown) => error);
        if (read instanceof FleetError)
          expect(read).toMatchObject({ exitCode: 2, problem: { code: expect.stringMatching(/^plan\./) } });
        else expect(planText(read as FleetPlan, drawn)).toBeTypeOf('string');
      }),
      { numRuns: 60 },
    );
  });

  it('that was edited changes in Azure DevOps only what this run has planned itself', () => {
    const [made] = full.fleet;
    if (made === undefined) throw new Error('no change');
    const edited = {
      ...full,
      fleet: [{ ...made, action: { kind: 'create-pool', pool: '../evil' } as const }],
    };
    const survey = {
      hosts: [],
      failures: [],
      pools: { changes: [made, { ...made, id: 'pool.create.new' }], blocked: new Map<string, never>() },
      held: [],
      agentsIn: () => undefined,
      lackedRights: [],
    };
    expect(announcedBy(edited, survey).pools.changes).toEqual([made]);
  });

  it('is read with clean text, from any writer', async () => {
    await writePlanFile(file, full);
    const hostile = readFileSync(file, 'utf8').replace('a dataset', String.raw`a\u001b[2J\ndataset`);
    writeFileSync(file, hostile);
    expect(JSON.stringify(await readPlanFile(file, expected))).toContain('"text":"a dataset"');
  });

  it.each([
    ['another version', file, { ...expected, version: '0.3.0' }, 'plan.version'],
    ['another inventory', file, { ...expected, inventoryDigest: 'def' }, 'plan.inventory-changed'],
    ['no file', join(folder, 'none'), expected, 'plan.file'],
    ['something else', import.meta.filename, expected, 'plan.file'],
  ])('is refused: %s', async (_name, path, against, code) => {
    await writePlanFile(file, plan);
    await expect(readPlanFile(path, against)).rejects.toMatchObject({ exitCode: 2, problem: { code } });
  });

  it('that cannot be read has the command that makes one', async () => {
    await expect(readPlanFile(join(folder, 'none'), expected)).rejects.toMatchObject({
      problem: { what: `the plan ${folder}/none cannot be read`, seen: 'ENOENT', next: expect.any(String) },
    });
  });

  it.each([
    ['in a missing folder', join(folder, 'nowhere/x.json'), 'ENOENT', `mkdir -p ${folder}/nowhere`],
    ['over a folder', folder, 'EISDIR', 'name another file with -o'],
    ['below a file', join(import.meta.filename, 'x.json'), 'ENOTDIR', 'name another file with -o'],
  ])('cannot be written %s: reported before any host is read', async (_, path, seen, next) => {
    const problem = { code: 'plan.file', what: `the plan cannot be written to ${path}`, seen, next };
    await expect(checkPlanFile(path)).rejects.toMatchObject({ exitCode: 2, problem });
    await expect(writePlanFile(path, plan)).rejects.toMatchObject({ exitCode: 2, problem });
  });

  it('cannot be written on a full disk', async () => {
    await expect(writePlanFile('/dev/full', plan)).rejects.toMatchObject({
      exitCode: 2,
      problem: { code: 'plan.file', seen: 'ENOSPC', next: 'name another file with -o' },
    });
  });

  it('can be written into a folder, and over another plan', async () => {
    await checkPlanFile(join(folder, 'new.json'));
    await writePlanFile(file, plan);
    await checkPlanFile(file);
    expect(existsSync(join(folder, 'new.json'))).toBe(false);
  });
});
