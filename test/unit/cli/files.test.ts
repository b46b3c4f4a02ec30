import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { Options } from '../../../src/cli/options.ts';
import { chooseHosts, saveJournal } from '../../../src/cli/commands/provision.ts';
import { failedHosts } from '../../../src/fleet/apply/journal.ts';
import type { FleetPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import { desiredOf } from '../../support/host.ts';
import { quietContext, runCommand } from '../../support/command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'azp-files-'));
afterAll(() => rmSync(cwd, { recursive: true }));
writeFileSync(join(cwd, 'a-file'), '');

test('plan reports an unwritable file before it reads hosts', async () => {
  const { exitCode, stderr } = await runCommand(['plan', 'none.yaml', '-o', 'nowhere/x.json'], { cwd });
  expect(exitCode).toBe(2);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(`the plan cannot be written to ${cwd}/nowhere/x.json`);
  expect(stderr.replaceAll(/[\s\\]+/g, ' ')).toContain(`mkdir -p ${cwd}/nowhere`);
});

test('a saved plan for hosts that the inventory lacks is refused', async () => {
  const plan: FleetPlan = {
    schema: 1,
    version: '',
    at: '',
    inventory: '',
    inventoryDigest: '',
    fleet: [],
    hosts: [{ host: '../../etc/passwd', factsDigest: '', stages: [], refusals: [] }],
  };
  const { host } = desiredOf();
  await expect(
    chooseHosts([host], undefined, { journal: '', state: { path: cwd } }, plan),
  ).rejects.toMatchObject({
    exitCode: 2,
    problem: { code: 'usage.no-hosts', what: 'the plan has none of these hosts' },
  });
});

describe('the result of a run', () => {
  const input = {
    positionals: [],
    rest: [],
    options: new Options({}),
    inventory: 'lab.yaml',
    commandLine: 'azp-fleet provision',
    commands: [],
  };
  const outcomes = [{ host: 'h200-1', state: 'failed', changes: 0 }] as const;

  test('is saved', async () => {
    const { context, written } = quietContext({ cwd });
    const journal = join(cwd, 'state/runs/x.json');
    await saveJournal(context, input, { journal, inventory: 'lab.yaml' }, outcomes);
    expect(await failedHosts(journal)).toEqual(['h200-1']);
    expect(written.stderr.replaceAll(/\s+/g, ' ')).toBe('');
  });

  test('stays that of the run before on a full disk, with a warning', async () => {
    const { context, written } = quietContext({ cwd });
    const journal = join(cwd, 'full/runs/x.json');
    await saveJournal(context, input, { journal, inventory: 'lab.yaml' }, outcomes);
    symlinkSync('/dev/full', `${journal}.next`);
    const later = [{ host: 'h200-2', state: 'failed', changes: 0 }] as const;
    await saveJournal(context, input, { journal, inventory: 'lab.yaml' }, later);
    expect(await failedHosts(journal)).toEqual(['h200-1']);
    expect(written.stderr.replaceAll(/\s+/g, ' ')).toContain('cannot be written (ENOSPC)');
  });

  test('does not change if it cannot be saved: a warning is printed', async () => {
    const { context, written } = quietContext({ cwd });
    const journal = join(cwd, 'a-file/runs/x.json');
    await saveJournal(context, input, { journal, inventory: 'lab.yaml' }, outcomes);
    expect(written.stderr.replaceAll(/\s+/g, ' ')).toBe(
      `! --rerun failed will not include this run: ${journal} cannot be written (ENOTDIR) `,
    );
  });
});
