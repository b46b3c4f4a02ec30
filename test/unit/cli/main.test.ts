import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { runtimeArtifact } from '../../../src/fleet/artifacts/node-runtime.ts';
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
    `! no debug log: ${folder}/a-file/azp-fleet cannot be written (ENOTDIR) next set XDG_STATE_HOME to a writable folder `,
  );
  expect(stdout).toContain('rtx-box');
  expect(status).toBe(0);
  const wrong = azpFleet(['inventory', 'list', 'none.yaml', '--debug', '--json'], env);
  expect(wrong.status).toBe(2);
  expect(JSON.parse(wrong.stdout)).not.toHaveProperty('log');
});

test('status --check exits with 3 where it cannot check, and says so on stdout', () => {
  const env = { XDG_STATE_HOME: folder };
  const run = azpFleet(['status', '--check', '-i', 'none.yaml'], env);
  expect(run.status).toBe(3);
  expect(run.stdout).toMatch(/^AZP-FLEET UNKNOWN - .*none\.yaml.*\n$/);
  expect(azpFleet(['status', '-i', 'none.yaml'], env)).toMatchObject({ status: 2, stdout: '' });
});

test('the totals of status are its last line: a host that failed is no failure of the run', () => {
  writeFileSync(
    join(folder, 'down.yaml'),
    'organization: http://127.0.0.1:9/lab\ntoken: { env: AZP_TOKEN }\ndefaults: { pool: p, user: me, sshConfig: none }\nhosts: { down: { address: 127.0.0.1, port: 9 } }\n',
  );
  const env = { XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, AZP_TOKEN: 'a-token-of-the-test' };
  const { status, stdout, stderr } = azpFleet(['status', '-i', 'down.yaml'], env);
  expect([status, stdout.trimEnd().split('\n').at(-1)]).toEqual([1, '1 host: 1 unreachable']);
  expect(stderr).toContain('azure.unreachable');
  expect(stderr).not.toContain('.log');
});

test('a uid without an entry in passwd, as in many containers, does not matter', () => {
  const code = `import os from 'node:os';
import { syncBuiltinESMExports } from 'node:module';
os.userInfo = () => { throw new Error('uv_os_get_passwd returned ENOENT'); };
syncBuiltinESMExports();`;
  const run = azpFleet(['inventory', 'list', 'lab.yaml'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
    XDG_STATE_HOME: folder,
  });
  expect(run).toMatchObject({ status: 0, stderr: '' });
  expect(run.stdout).toContain('rtx-box');
});

test('output to a full disk is one line on stderr and exit 1', () => {
  requireCurrentBuild(root);
  const full = openSync('/dev/full', 'w');
  const argv = [join(root, 'bin/azp-fleet.js'), 'inventory', 'list', 'lab.yaml'];
  const run = spawnSync(process.execPath, argv, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], XDG_STATE_HOME: folder },
    stdio: ['ignore', full, 'pipe'],
  });
  closeSync(full);
  expect(run.stderr).toBe('azp-fleet: output is lost: ENOSPC: no space left on device, write\n');
  expect(run.status).toBe(1);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends a run that waits for a host', async (signal) => {
  requireCurrentBuild(root);
  const silent = createServer((socket) => void socket.on('error', () => undefined));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  writeFileSync(
    join(folder, `${signal}.yaml`),
    `organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\nhosts: { h: { address: 127.0.0.1, port: ${port}, pool: p, sshConfig: none } }\n`,
  );
  const args = [join(root, 'bin/azp-fleet.js'), 'exec', '-i', `${signal}.yaml`, 'h', '--', 'true'];
  const env = { PATH: process.env['PATH'], XDG_STATE_HOME: folder };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = text(child.stderr);
  const ended = once(child, 'close') as Promise<[number]>;
  await Promise.race([once(silent, 'connection'), ended]);
  child.kill(signal);
  expect((await ended)[0]).toBe(130);
  expect(await said).toContain('[interrupted]');
  silent.close();
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

describe('compiled code', () => {
  /** Runs the program with an empty folder for caches, and lists the files that it has put there and elsewhere. */
  function keptIn(prepare: (caches: string) => Readonly<Record<string, string>> | void) {
    const base = mkdtempSync(join(folder, 'caches-'));
    const caches = join(base, 'cache');
    const temporary = join(base, 'tmp');
    mkdirSync(caches);
    mkdirSync(temporary);
    const more = prepare(caches) ?? {};
    const run = azpFleet(['--version'], { TMPDIR: temporary, XDG_CACHE_HOME: caches, ...more });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(temporary)).toEqual([]);
    const files = readdirSync(base, { recursive: true, withFileTypes: true });
    return {
      caches,
      files: files
        .filter((entry) => entry.isFile())
        .map(({ parentPath }) => parentPath.slice(base.length + 1)),
    };
  }
  const own = 'cache/azp-fleet/compiled';

  test('is kept in a folder of the user alone', () => {
    const { caches, files } = keptIn(() => undefined);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !path.startsWith(own))).toEqual([]);
    for (const path of ['azp-fleet', 'azp-fleet/compiled'])
      expect(statSync(join(caches, path)).mode & 0o777, path).toBe(0o700);
  });

  test('is kept below the home folder without XDG_CACHE_HOME', () => {
    const { files } = keptIn((caches) => ({ XDG_CACHE_HOME: '', HOME: caches }));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !path.startsWith('cache/.cache/azp-fleet/compiled'))).toEqual([]);
  });

  test('is kept where NODE_COMPILE_CACHE says', () => {
    const { files } = keptIn((caches) => ({ NODE_COMPILE_CACHE: join(caches, 'chosen') }));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !path.startsWith('cache/chosen'))).toEqual([]);
  });

  test.each<readonly [string, (folders: Readonly<Record<'program' | 'code', string>>) => void]>([
    ["the group may write to the program's folder", ({ program }) => chmodSync(program, 0o770)],
    ['everybody may write to the folder itself', ({ code }) => chmodSync(code, 0o707)],
    [
      'it is a link',
      ({ program, code }) => {
        rmSync(code, { recursive: true });
        symlinkSync(mkdtempSync(join(program, 'elsewhere-')), code);
      },
    ],
    [
      'a file has its name',
      ({ code }) => {
        rmSync(code, { recursive: true });
        writeFileSync(code, '');
      },
    ],
    [
      'it belongs to another user',
      // Only root can give a folder away.
      ({ code }) => (process.geteuid?.() === 0 ? chownSync(code, 65_534, 65_534) : chmodSync(code, 0o707)),
    ],
  ])('is not kept if %s', (_name, spoil) => {
    const { files } = keptIn((caches) => {
      const folders = { program: join(caches, 'azp-fleet'), code: join(caches, 'azp-fleet/compiled') };
      mkdirSync(folders.code, { recursive: true, mode: 0o700 });
      spoil(folders);
    });
    expect(files.filter((path) => path !== 'cache/azp-fleet')).toEqual([]);
  });

  test('is not kept in a folder of another user, as below the home that sudo keeps', () => {
    const { files } = keptIn((caches) => {
      // Only root can give a folder away.
      if (process.geteuid?.() === 0) chownSync(caches, 65_534, 65_534);
      else chmodSync(caches, 0o500);
      return { XDG_CACHE_HOME: '', HOME: caches };
    });
    expect(files).toEqual([]);
  });
});

/**
 * Plants files where the program looks for its own: below the folder of temporary files, and below the XDG folders, which
 * another user owns. They are pipes: a program that opens one to read does not end.
 */
function plant() {
  const base = mkdtempSync(join(folder, 'planted-'));
  // Nothing listens on port 9.
  writeFileSync(
    join(folder, 'planted.yaml'),
    'organization: https://127.0.0.1:9/lab\ntoken: { env: AZP_TOKEN }\nhosts:\n  down: { address: 127.0.0.1, port: 9, pool: p }\n',
  );
  const at = (name: string) => join(base, name);
  for (const name of ['tmp', 'cache/azp-fleet', 'state/azp-fleet']) mkdirSync(at(name), { recursive: true });
  const { username } = userInfo();
  const inventory = realpathSync(folder);
  const digestOf = (name: string) =>
    createHash('sha256').update(join(inventory, name)).digest('hex').slice(0, 16);
  const names = [
    'tmp/azp-fleet.lock',
    'tmp/node-compile-cache/entry',
    `tmp/node-compile-cache-${username}/entry`,
    'cache/azp-fleet/compiled/entry',
    ...[true, false].map((zstd) => runtimeArtifact('cache/azp-fleet', 'x86_64', zstd)?.file ?? ''),
    'cache/azp-fleet/folders/0.tar',
    'state/azp-fleet/logs/2026-01-01T000000-000Z-1.log',
    ...['planted.yaml', 'new.yaml'].flatMap((name) =>
      ['runs', 'setup'].map((kept) => `state/azp-fleet/${kept}/${digestOf(name)}.json`),
    ),
  ];
  for (const name of names) {
    mkdirSync(dirname(at(name)), { recursive: true });
    execFileSync('mkfifo', [at(name)]);
  }
  for (const name of ['tmp', 'cache', 'state']) {
    for (const entry of ['', ...readdirSync(at(name), { recursive: true, encoding: 'utf8' })]) {
      const path = join(at(name), entry);
      if (process.geteuid?.() === 0) chownSync(path, 65_534, 65_534);
      chmodSync(path, name === 'tmp' && entry === '' ? 0o1777 : 0o777);
    }
  }
  const env = {
    TMPDIR: at('tmp'),
    XDG_CACHE_HOME: at('cache'),
    XDG_STATE_HOME: at('state'),
    AZP_TOKEN: 'a-token',
  };
  return { env, listed: () => readdirSync(base, { recursive: true, encoding: 'utf8' }).sort() };
}

test.each([
  'plan planted.yaml',
  'provision planted.yaml --yes',
  'provision planted.yaml --yes --rerun failed',
  'status planted.yaml',
  'exec -i planted.yaml -- true',
  'trust planted.yaml',
  'bundle planted.yaml -o none.tar',
  'remove down -i planted.yaml --yes',
  'adopt down -i planted.yaml --yes',
  'reboot down -i planted.yaml --yes',
  'drain down -i planted.yaml --yes',
  'image build down -i planted.yaml',
  'ssh-config planted.yaml',
  'inventory list planted.yaml',
  'setup --yes -o new.yaml',
  '--version',
])('what another user has planted is neither read nor run nor changed: %s', (line) => {
  const { env, listed } = plant();
  const before = listed();
  const { status, stderr } = azpFleet(line.split(' '), env);
  expect(status).not.toBeNull();
  expect(listed()).toEqual(before);
  if (line !== '--version')
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `no debug log: ${env.XDG_STATE_HOME}/azp-fleet is not used: `,
    );
});
