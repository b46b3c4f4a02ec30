// What `status --html` writes, and which arguments `--watch` refuses. The screen and the page have their own tests.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';

import { runCommand } from '../../../support/command.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
beforeAll(() => {
  writeFileSync(
    join(fake.folder, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, agents: 1, sshConfig: none }
hosts: { h200-1: { address: 127.0.0.1, port: 9 } }
`,
  );
});
const status = (...options: readonly string[]) => runCommand(['status', ...options], { cwd: fake.folder });

test('--html writes the page, names it, and keeps the exit code', async () => {
  const before = process.umask(0o022);
  const { exitCode, stdout } = await status('--html', 'fleet.html');
  process.umask(before);
  expect(exitCode).toBe(1);
  expect(stdout).toBe('wrote fleet.html\n\n1 host: 1 unreachable\n');
  const file = join(fake.folder, 'fleet.html');
  expect(readFileSync(file, 'utf8')).toMatch(
    /^<!doctype html>[^]*h200-1[^]*nothing listens on 127\.0\.0\.1:9/,
  );
  expect(statSync(file).mode & 0o777).toBe(0o644);
});

test('--html replaces a file in one step, and leaves nothing beside it', async () => {
  const folder = join(fake.folder, 'www');
  mkdirSync(folder);
  writeFileSync(join(folder, 'fleet.html'), 'before');
  const { ino } = statSync(join(folder, 'fleet.html'));
  await status('--html', 'www/fleet.html', '--json');
  expect(statSync(join(folder, 'fleet.html')).ino).not.toBe(ino);
  expect(readdirSync(folder)).toEqual(['fleet.html']);
});

test('the umask decides who can read the page', async () => {
  const before = process.umask(0o077);
  await status('--html', 'private.html');
  process.umask(before);
  expect(statSync(join(fake.folder, 'private.html')).mode & 0o777).toBe(0o600);
});

test.each([
  ['a folder that is missing', 'missing/fleet.html'],
  ['a folder instead of a file', 'folder'],
])('--html into %s is a usage error, and leaves nothing', async (_, file) => {
  mkdirSync(join(fake.folder, 'folder'), { recursive: true });
  chmodSync(join(fake.folder, 'folder'), 0o755);
  const { exitCode, stderr } = await status('--html', file);
  expect(exitCode).toBe(2);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
    `${join(fake.folder, file)} cannot be written [output.file]`,
  );
  expect(existsSync(join(fake.folder, 'missing'))).toBe(false);
  expect(readdirSync(fake.folder).filter((name) => name.includes('.tmp'))).toEqual([]);
});

test('--watch without a terminal is a usage error that names the other ways', async () => {
  const { exitCode, stderr } = await status('--watch');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('--watch needs a terminal [usage.no-terminal]');
  expect(stderr).toContain('azp-fleet status --json');
  const piped = { cwd: fake.folder, terminal: true, stdin: new PassThrough() };
  expect(await runCommand(['status', '--watch'], piped)).toMatchObject({ exitCode: 2 });
});

test.each([
  ['h200-1/0', 'h200-1'],
  ['h200-1/0 h200-1/h200-1-1', 'h200-1'],
  ['h200-*/0', "'h200-*'"],
])('--watch of %s is a usage error that names the hosts', async (targets, hosts) => {
  const { exitCode, stderr } = await status(...targets.split(' '), '--watch');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('--watch shows whole hosts, not single slots [usage.arguments]');
  expect(stderr).toContain(`run azp-fleet status --watch ${hosts}\n`);
});

test.each(['--json', '--check', '--drift', '--probe', '--strict', '--html x.html'])(
  '--watch with %s is a usage error',
  async (options) => {
    const { exitCode, stdout, stderr } = await status('--watch', ...options.split(' '));
    expect(exitCode).toBe(options === '--check' ? 3 : 2);
    expect(stdout + stderr).toContain(`--watch does not go with ${options.split(' ')[0]}`);
  },
);
