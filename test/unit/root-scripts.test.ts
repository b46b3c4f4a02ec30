// Every shell text that we generate for hosts and images is valid, and gives shellcheck nothing to say.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { managerUnit } from '../../src/shared/contract/paths.ts';
import { managerUnitFor } from '../../src/fleet/steps/manager/files.ts';
import { rootScripts } from '../support/root-scripts/all.ts';
import { shellcheckArgs } from '../support/root-scripts/shellcheck.ts';
import { sourcesWithShell } from '../support/root-scripts/sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-scripts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const scripts = rootScripts();
for (const [name, text] of scripts) writeFileSync(join(folder, name), text);
const names = [...scripts.keys()];

/** Sources whose shell text no host gets as a script of ours, each with the reason. */
const others: Readonly<Record<string, string>> = {
  'src/cli/commands/exec.ts': "the user's own command",
  'src/cli/render/status-page.ts': 'a page',
  'src/fleet/inventory/secret.ts': "the user's own command",
  'src/fleet/ssh/connect/dial.ts': "ssh_config's own command",
  'src/fleet/ssh/session/start.ts': 'a sentence',
  'src/fleet/ssh/session/sudo.ts': 'a sentence',
  'src/manager/docker/job-user.ts': "a login shell's path",
  'src/shared/health/deep-kernels.ts': 'text for the compiler of the GPU driver',
};

test('every source that contains shell text has a line of it in a collected script', () => {
  const texts = [...scripts.values()];
  const missing = sourcesWithShell().filter(
    ({ lines }) => !lines.some((line) => texts.some((text) => text.includes(line))),
  );
  expect(missing.map(({ file }) => file)).toEqual(Object.keys(others).toSorted());
});

test('they are valid for the plainest shell there is', () => {
  const broken = names.filter((name) => spawnSync('/bin/sh', ['-n', join(folder, name)]).status !== 0);
  expect(broken).toEqual([]);
});

test('they give shellcheck nothing to say', async ({ annotate }) => {
  if (spawnSync('shellcheck', ['-V']).error !== undefined)
    return annotate('shellcheck is not installed: only the syntax was checked');
  const shares = Array.from({ length: availableParallelism() }, (_, share) =>
    names.filter((_, index) => index % availableParallelism() === share),
  );
  expect((await Promise.all(shares.map(shellcheck))).join('')).toBe('');
  // Some 1,500 texts: half a minute on two cores that do nothing else.
  return undefined;
});

test('systemd understands every line of our unit', ({ annotate }) => {
  const unit = join(folder, managerUnit);
  const systemd = Number(
    /\d+/.exec(spawnSync('systemd-analyze', ['--version']).stdout?.toString() ?? '')?.[0],
  );
  // Its program is on hosts only.
  const { text } = managerUnitFor(readFileSync('units/azp-fleet-manager.service', 'utf8'), systemd);
  writeFileSync(unit, text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'));
  const args = ['verify', '--man=no', '--recursive-errors=no', unit];
  const { error, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error !== undefined) return annotate('systemd-analyze is not installed: the unit was not checked');
  expect(stderr.split('\n').filter((line) => line.includes(managerUnit))).toEqual([]);
  return undefined;
});

function shellcheck(some: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile('shellcheck', [...shellcheckArgs, ...some], { cwd: folder }, (_, stdout, stderr) =>
      resolve(`${stdout}${stderr}`),
    );
  });
}
