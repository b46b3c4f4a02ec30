import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { runCommand } from '../../../support/command.ts';
import { readPipeline } from '../../../support/pipeline-yaml.ts';

let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'pipeline-'));
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab }
hosts: { h200-1: { gpus: 2 }, rtx: { pool: "rendering, at night" } }
`,
  );
});
afterEach(() => rmSync(cwd, { recursive: true }));

test('the pipeline of the named pool is printed', async () => {
  const { exitCode, stdout } = await runCommand(['pipeline', 'rendering, at night'], { cwd });
  expect(exitCode).toBe(0);
  expect(readPipeline(stdout).jobs[0]?.pool.name).toBe('rendering, at night');
});

test('--limit leaves one pool', async () => {
  const { stdout } = await runCommand(['pipeline', '--limit', 'h200-1'], { cwd });
  expect(readPipeline(stdout).jobs[0]?.pool.name).toBe('gpu-lab');
});

test('several pools, an unknown pool, an unknown kind: reported with the valid ones', async () => {
  const several = await runCommand(['pipeline'], { cwd });
  expect([several.exitCode, several.stdout]).toEqual([2, '']);
  expect(several.stderr).toContain('gpu-lab, rendering, at night');
  expect(several.stderr).toContain('azp-fleet pipeline gpu-lab');
  const unknown = await runCommand(['pipeline', 'gpu-labb'], { cwd });
  expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining('gpu-labb')]);
  const kind = await runCommand(['pipeline', 'gpu-lab', '--kind', 'gpus'], { cwd });
  expect([kind.exitCode, kind.stderr]).toEqual([
    2,
    expect.stringContaining('gpu, matrix, container, image, graphics'),
  ]);
});

test('a file is written; --replace overwrites one and keeps a backup', async () => {
  const write = ['pipeline', 'gpu-lab', '-o', 'azure-pipelines.yml'];
  const file = join(cwd, 'azure-pipelines.yml');
  writeFileSync(file, 'mine');
  const refused = await runCommand(write, { cwd });
  expect([refused.exitCode, readFileSync(file, 'utf8')]).toEqual([2, 'mine']);
  expect(refused.stderr).toContain('--replace');
  const replaced = await runCommand([...write, '--replace'], { cwd });
  expect([replaced.exitCode, replaced.stdout]).toEqual([
    0,
    expect.stringContaining('azure-pipelines.yml.bak-1'),
  ]);
  expect(readPipeline(readFileSync(file, 'utf8')).jobs).toHaveLength(1);
  expect(readFileSync(`${file}.bak-1`, 'utf8')).toBe('mine');
  expect(readdirSync(cwd)).toHaveLength(3);
});
