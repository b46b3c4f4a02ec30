// As the README says it to those who have the package: installed, and run, on each line of Node that it takes.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { version } from '../../src/shared/base/version.ts';
import { useFake } from '../unit/practice/azure/server.ts';
import { broughtNodes, shellWith, type TestNode } from './nodes.ts';
import { npx } from './npx.ts';
import { packInto } from './packed.ts';
import { ran, ranWell } from './run.ts';

const fake = useFake();
const folder = mkdtempSync(join(tmpdir(), 'azp-package-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { taken } = broughtNodes();
const packed = await packInto(folder);
const quickly = ['--prefer-offline', '--no-audit', '--no-fund'];

const prefixOf = (node: TestNode) => join(folder, node.version);

/** The environment of another user with this Node and the installed command. */
async function installed(node: TestNode) {
  const prefix = prefixOf(node);
  const cwd = join(prefix, 'work');
  mkdirSync(cwd, { recursive: true });
  const install = ['install', '-g', '--prefix', prefix, ...quickly, packed];
  await ranWell('npm', install, { cwd, env: shellWith(node) });
  const env = {
    ...shellWith(node, join(prefix, 'bin')),
    AZP_TOKEN: 'good-token',
    XDG_STATE_HOME: prefix,
    XDG_CACHE_HOME: prefix,
  };
  return {
    cwd,
    azpFleet: (...args: readonly string[]) => ran('azp-fleet', args, { cwd, env }),
    files: join(prefix, 'lib/node_modules/azp-fleet'),
  };
}

test('the README names this archive', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  expect(readme).toContain(`\nnpm install -g azp-fleet-${version}.tgz `);
  expect(readme).toContain(`\nnpx -p ./azp-fleet-${version}.tgz azp-fleet `);
});

describe.each(taken)('npm install -g on Node $version', (node) => {
  let here: Awaited<ReturnType<typeof installed>>;
  beforeAll(async () => {
    here = await installed(node);
  });

  test('azp-fleet --version', async () => {
    expect(await here.azpFleet('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('azp-fleet --help', async () => {
    const { status, stdout, stderr } = await here.azpFleet('--help');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: azp-fleet .*^ {2}provision .*^Exit codes: /ms);
  });

  test('man azp-fleet', () => {
    const page = join(prefixOf(node), 'share/man/man1/azp-fleet.1');
    const { stdout, stderr, status } = spawnSync('man', ['--warnings', '-l', page], {
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8' },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^NAME\n +azp-fleet - .*^ +azp-fleet pool prune \[hosts\.\.\.\]$/ms);
  });

  test('an inventory is made and checked, and the example too', async () => {
    const init = ['init', 'h200-1=admin@192.0.2.7', '--organization', 'https://dev.azure.com/example'];
    expect(await here.azpFleet(...init)).toMatchObject({ status: 0, stderr: '' });
    expect(await here.azpFleet('inventory', 'check')).toMatchObject({ status: 0, stderr: '' });
    const example = join(here.files, 'inventory.example.yaml');
    expect(await here.azpFleet('inventory', 'list', example)).toMatchObject({ status: 0, stderr: '' });
  });

  test('a plan finds all that would be uploaded, and asks hosts and server', async () => {
    // Nothing listens on port 9.
    writeFileSync(
      join(here.cwd, 'lab.yaml'),
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { pool: gpu-package, sshConfig: none }
hosts: { h200-1: { address: 127.0.0.1, port: 9, user: lab } }
`,
    );
    const { status, stdout } = await here.azpFleet('plan', 'lab.yaml', '--json');
    const { problems } = JSON.parse(stdout) as { problems: unknown };
    expect({ status, problems }).toMatchObject({
      status: 1,
      problems: [{ host: 'h200-1', code: 'ssh.refused' }],
    });
  });
});

test('npx runs the archive where nothing is installed', async () => {
  const node = taken.at(-1) ?? expect.unreachable();
  const cwd = mkdtempSync(join(folder, 'npx-'));
  cpSync(packed, join(cwd, basename(packed)));
  const env = { ...shellWith(node), npm_config_prefer_offline: 'true' };
  const args = ['--yes', '-p', `./${basename(packed)}`, 'azp-fleet', '--version'];
  expect(await npx(folder, args, { cwd, env })).toMatchObject({ status: 0, stdout: `${version}\n` });
});
