// As the README says it to those who have a clone: one line, on a machine whose Node is too old.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { version } from '../../src/shared/base/version.ts';
import { broughtNodes, shellWith } from './nodes.ts';
import { npx } from './npx.ts';
import { ran, ranWell, type Ran } from './run.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'azp-clone-'));
afterAll(() => rmSync(folder, { recursive: true }));
const clone = join(folder, 'azp-fleet');
const bin = join(folder, 'bin');
const { tooOld } = broughtNodes();
const env = { ...shellWith(tooOld, bin), XDG_STATE_HOME: folder };
const notCloned = new Set(['.git', '.cache', 'node_modules', 'dist', 'demo-fleet']);

let said: Ran;
beforeAll(async () => {
  cpSync(root, clone, { recursive: true, filter: (path) => !notCloned.has(relative(root, path)) });
  said = await ranWell('npm', ['run', 'cli'], {
    cwd: clone,
    env: { ...env, npm_config_prefer_offline: 'true' },
  });
});

test('the README names this line', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  expect(readme).toMatch(/\ngit clone … azp-fleet && cd azp-fleet && npm run cli\nnpx azp-fleet setup /);
});

test('"npm run cli" brings a Node, and says how the command is called', () => {
  expect(said.stdout).toContain(`Node ${tooOld.version} is too old: bringing Node 24.`);
  expect(said.stdout).toContain(`azp-fleet ${version} is ready\n  in this folder   npx azp-fleet setup\n`);
  expect(said.stdout).toContain(`ln -s "${clone}/bin/azp-fleet.js" `);
});

test('npx azp-fleet runs in the clone', async () => {
  const result = await npx(clone, ['azp-fleet', '--version'], { cwd: clone, env });
  expect(result).toMatchObject({ status: 0, stdout: `${version}\n` });
});

test('a link to it runs everywhere, with its exit code, and Ctrl-C ends it', async () => {
  mkdirSync(bin);
  symlinkSync(join(clone, 'bin/azp-fleet.js'), join(bin, 'azp-fleet'));
  const cwd = folder;
  expect(await ran('azp-fleet', ['--version'], { cwd, env })).toMatchObject({
    status: 0,
    stdout: `${version}\n`,
  });
  expect(await ran('azp-fleet', ['status', 'none.yaml'], { cwd, env })).toMatchObject({ status: 2 });
  const server = createServer().listen(0, '127.0.0.1');
  const { port } = await new Promise<AddressInfo>((resolve) => {
    server.on('listening', () => resolve(server.address() as AddressInfo));
  });
  writeFileSync(
    join(folder, 'lab.yaml'),
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab, sshConfig: none }
hosts: { silent: { address: 127.0.0.1, port: ${port}, user: lab } }
`,
  );
  const stopped = await ran('azp-fleet', ['exec', '-i', 'lab.yaml', '--', 'true'], {
    cwd,
    env,
    begun: ({ pid = 0 }) => {
      // A terminal tells the whole group.
      server.on('connection', () => process.kill(-pid, 'SIGINT'));
    },
  });
  server.close();
  expect(stopped).toMatchObject({
    status: 130,
    stderr: expect.stringContaining('silent: skipped: interrupted'),
  });
});

test('the built command alone says what is missing', async () => {
  rmSync(join(clone, 'node_modules/.bin/node'));
  const missing = `azp-fleet needs Node 22.13 or newer; this is ${tooOld.version}.
next: install Node 24, or, in a clone, run "npm run cli" once: it brings its own.
`;
  const { status, stdout, stderr } = await ran('azp-fleet', ['--version'], { cwd: folder, env });
  expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: missing });
  // It builds first.
  const byNpx = await npx(clone, ['azp-fleet', '--version'], { cwd: clone, env });
  expect(byNpx).toMatchObject({ status: 2, stdout: '', stderr: missing });
});
