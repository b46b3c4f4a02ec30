import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { requireCurrentBuild } from '../../support/current-build.ts';

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'azp-main-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'a-file'), '');
writeFileSync(
  join(folder, 'lab.yaml'),
  'organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\nhosts: { rtx-box: { pool: p } }\n',
);

/** Runs the published program in a separate process. */
function azpFleet(argv: readonly string[], env: Readonly<Record<string, string>>) {
  requireCurrentBuild(root);
  const options = { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'], ...env } } as const;
  const program = join(root, 'bin/azp-fleet.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...argv], options);
  return { status, stdout, stderr };
}

test('a read-only state folder disables only the debug log', () => {
  const env = { XDG_STATE_HOME: join(folder, 'a-file') };
  const { status, stdout, stderr } = azpFleet(['inventory', 'list', 'lab.yaml'], env);
  expect(stderr.replaceAll(/\s+/g, ' ')).toBe(
    `! no debug log: ${folder}/a-file/azp-fleet cannot be written (ENOTDIR); next: set XDG_STATE_HOME to a writable folder `,
  );
  expect(stdout).toContain('rtx-box');
  expect(status).toBe(0);
  const wrong = azpFleet(['inventory', 'list', 'none.yaml', '--debug', '--json'], env);
  expect(wrong.status).toBe(2);
  expect(JSON.parse(wrong.stdout)).not.toHaveProperty('log');
});

test('flags after -- are ignored', () => {
  const { status, stdout, stderr } = azpFleet(['exec', '-i', 'none.yaml', '--', 'df', '--json'], {
    XDG_STATE_HOME: folder,
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain('none.yaml');
});

test('if a host fails, the debug log is named at the end', () => {
  const inventory = 'organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\nhosts:\n';
  // Port 9 is closed.
  writeFileSync(join(folder, 'down.yaml'), `${inventory}  down: { address: 127.0.0.1, port: 9, pool: p }\n`);
  const { status, stderr } = azpFleet(['exec', '-i', 'down.yaml', 'down', '--', 'true'], {
    XDG_STATE_HOME: folder,
  });
  expect(status).toBe(1);
  const [, log = ''] = /\n {2}log {7}(\S+)\n$/.exec(stderr) ?? [];
  expect(readFileSync(log, 'utf8')).toContain('"command"');
});

test('a token too short to redact is reported, and other output stays readable', () => {
  const inventory = readFileSync(join(folder, 'lab.yaml'), 'utf8');
  writeFileSync(join(folder, 'ca.yaml'), `${inventory}ca: none.pem\n`);
  const { stderr } = azpFleet(['plan', 'ca.yaml'], { XDG_STATE_HOME: folder, AZP_TOKEN: 'a' });
  expect(stderr).toContain('! the token has fewer than 4 characters');
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(`the CA file ${folder}/none.pem cannot be read`);
});

test('help and the version leave no debug log', () => {
  const env = { XDG_STATE_HOME: join(folder, 'state-of-help') };
  for (const argv of [['--help'], ['--version'], ['help', 'plan'], []])
    expect(azpFleet(argv, env)).toMatchObject({ status: 0, stderr: '' });
  expect(existsSync(env.XDG_STATE_HOME)).toBe(false);
  expect(azpFleet(['unknown'], env).status).toBe(2);
  expect(readdirSync(join(env.XDG_STATE_HOME, 'azp-fleet/logs'))).toHaveLength(1);
});
