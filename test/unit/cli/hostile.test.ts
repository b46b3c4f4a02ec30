// The whole program with hosts, managers, servers and files that contain terminal escape sequences.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { sha256 } from '../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../src/shared/contract/paths.ts';
import { runCommand, type CommandResult } from '../../support/command.ts';
import { controls, evil, expectClean, words } from '../../support/hostile-words.ts';
import { framesSaid, hostileHost, type HostileHost, type Said } from '../../support/hostile-host.ts';
import { managerStatus } from '../../support/manager-status.ts';
import { useFake } from '../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const cwd = mkdtempSync(join(tmpdir(), 'azp-hostile-'));
const fake = useFake();
const env = { LOGIN: 'a-login-password' };
let host: HostileHost;
let manager: Server;
/** The host's answers by script, and the manager's by path; each test sets its own. */
let answer: (script: string) => Said = () => ({});
let answers: Readonly<Record<string, unknown>> = {};

beforeAll(async () => {
  const socket = join(cwd, 'manager.sock');
  manager = createServer((request, response) => {
    const reply = answers[request.url?.split('?')[0] ?? ''];
    if (reply === undefined)
      response.writeHead(500).end(JSON.stringify({ code: 'x', what: evil, next: evil }));
    else response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
  });
  await new Promise<void>((resolve) => void manager.listen(socket, resolve));
  host = await hostileHost({ answer: (script) => answer(script), managerSocket: socket });
  writeInventory('lab.yaml', fake.server.organization, host.port);
});

afterAll(() => {
  host.close();
  manager.close();
  rmSync(cwd, { recursive: true });
});

function writeInventory(name: string, organization: string, port: number): void {
  writeFileSync(
    join(cwd, name),
    `organization: ${organization}
token: { file: ${fake.tokenFile} }
hosts: { gpu-1: { address: 127.0.0.1, port: ${port}, user: lab, pool: p, sshConfig: none, loginPassword: { env: LOGIN } } }
`,
  );
}

function azpFleet(line: string, terminal = true): Promise<CommandResult> {
  const [command = '', after] = line.split(' -- ');
  const rest = after === undefined ? [] : ['--', after];
  return runCommand([...command.split(' '), '-i', 'lab.yaml', ...rest], { cwd, env, terminal });
}

/** Each line of a probe is of a known form. */
const evilLine = evil.replaceAll(/[\n\r]/g, '');

/** Facts of an ordinary machine with hostile names. */
const facts = {
  os: `ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu ${evil}"\n`,
  machine:
    'kernel 6.8.0\narch x86_64\nmachine-id 0123\nboot-id 4567\nsystemd systemd 255\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n',
  others: `login ${evilLine} tty1\ngpu-process 77 ${evilLine}\n`,
  'package-lock': `${evilLine} (pid 1) holds /var/lib/dpkg/lock\n`,
  docker: 'active\n',
  'docker-info': '{"ServerVersion":"29.1.0","Swarm":{"LocalNodeState":"active"}}\n',
  'docker-containers': `[{"Id":"77","Names":["/${JSON.stringify(evil).slice(1, -1)}"],"Labels":{}}]\n`,
  manager: 'current /opt/azp-fleet/versions/1\nActiveState=active\nUnitFileState=enabled\n',
  'manager-status': `present\n${JSON.stringify(
    managerStatus({
      host: evil,
      at: new Date().toISOString(),
      slots: [
        {
          slot: '0',
          agent: evil,
          state: 'busy',
          gpus: [],
          pool: 'gpu-lab',
          job: evil,
          since: evil,
          cause: evil,
          jobsRun: 1,
        },
      ],
      health: {
        state: 'failed',
        findings: [{ code: 'x', severity: 'fail', what: evil, next: evil, gpu: evil }],
      },
      problems: [{ code: 'x', what: evil, next: evil }],
    }),
  )}`,
};

/** Our files with hostile changes, as the probe reports them. */
function filesFrame(texts: Readonly<Record<string, string>>): string {
  const digests = Object.entries(texts).map(([path, text]) => `${sha256(text)}  ${path}\n`);
  const lines = Object.entries(texts).flatMap(([path, text]) =>
    text.split('\n').map((line) => `${path}:${line}\n`),
  );
  return [...digests, ...lines].join('');
}

const files = filesFrame({
  [HostPaths.config]: JSON.stringify({
    host: evil,
    pool: evil,
    [evil]: evil,
    agents: { kind: 'count', count: 1e9 },
    datasets: [{ name: evil, host: evil, container: evil, requireMount: true }],
    capabilities: { [evil]: evil },
  }),
  [HostPaths.unit]: `[Service]\nRestart=${evil}\n[${evil}]\n${evil}\nEnvironment="A_TOKEN=s3cret"`,
  '/etc/apt/sources.list.d/azp-fleet-docker.sources': `URIs: https://s3cret@${evil}/`,
  '/usr/local/share/ca-certificates/azp-fleet-site.crt': evil,
});

describe('exec', () => {
  const output = { stdout: `${evil}\nsecond line\n`, stderr: `${evil}\n`, code: 1 };

  test('on a terminal the output is text', async () => {
    answer = () => output;
    const result = await azpFleet('exec --login gpu-1 -- x');
    expectClean(result);
    expect(result.stdout).toMatch(words);
    expect(result.stdout).toContain('second line\n');
  });

  test('in a pipe it is unchanged', async () => {
    answer = () => output;
    const { stdout, stderr } = await azpFleet('exec --login gpu-1 -- x', false);
    expect(stdout).toContain(`${evil}\nsecond line\n${evil}`);
    expect(controls(stderr)).toEqual([]);
  });

  test('in a document it is complete and escaped', async () => {
    answer = () => output;
    const { stdout } = await azpFleet('exec --login --json gpu-1 -- x', false);
    expect(controls(stdout)).toEqual([]);
    expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ result: { stdout: output.stdout } }] });
  });

  test('a login that ends before a command runs', async () => {
    const other = await hostileHost({ answer: () => ({ stdout: evil, code: 3 }) });
    answer = () => ({ stderr: evil, code: 3 });
    expectClean(await azpFleet('exec gpu-1 -- x'));
    other.close();
  });
});

describe('facts', () => {
  test.each(['plan', 'plan --show-scripts', 'status', 'image which'])('%s', async (line) => {
    answer = (script) => framesSaid(script, facts);
    const result = await azpFleet(line);
    expectClean(result);
    expect(result.stdout).toContain('gpu-1');
  });

  test.each(['plan --diff', 'plan', 'provision --dry-run --diff'])('files of ours: %s', async (line) => {
    answer = (script) =>
      framesSaid(script, {
        ...facts,
        docker: '',
        'docker-info': '',
        'docker-containers': '',
        others: '',
        files,
      });
    const result = await azpFleet(line);
    // --diff shows a file unchanged: escapes in it stay.
    if (line === 'plan') expectClean(result);
    expect(controls(result.stdout)).toEqual([]);
    const text = stripVTControlCharacters(result.stdout);
    expect(text).toContain("~ manager  write the manager's configuration");
    expect(text).toMatch(/~ pool: said\s[^]*by a host → p\n/);
    expect(text).not.toContain('s3cret');
    expect(text.includes('│ /etc/azp-fleet/manager.json\n')).toBe(line.includes('--diff'));
  });

  test('facts of 640 kB are read completely', async () => {
    const processes = 'gpu-process 1 x\n'.repeat(40_000);
    answer = (script) => framesSaid(script, { ...facts, others: processes });
    const { stdout } = await azpFleet('status --json', false);
    expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ host: 'gpu-1', os: { id: 'ubuntu' } }] });
  });

  test('endless facts are an error of their host', async () => {
    answer = (script) => framesSaid(script, { ...facts, others: 'x'.repeat(17_000_000) });
    const { stdout } = await azpFleet('status --json', false);
    expect(JSON.parse(stdout)).toMatchObject({
      hosts: [{ host: 'gpu-1', verdict: { state: 'unreachable', cause: 'a script wrote more than 16 MiB' } }],
    });
  });

  test('a refusal names the cause', async () => {
    answer = (script) => framesSaid(script, facts);
    expect((await azpFleet('status')).stdout.replaceAll(/\s+/g, ' ')).toMatch(words);
  });

  test.each(['plan --json', 'status --json'])('%s is escaped as well', async (line) => {
    answer = (script) => framesSaid(script, facts);
    const { stdout } = await azpFleet(line, false);
    expect(JSON.stringify(JSON.parse(stdout))).not.toMatch(/\\u00(?:1b|07|08)|HIDDEN|\u202e|\u009b/);
  });

  test('a saved plan is not trusted', async () => {
    answer = (script) =>
      framesSaid(script, { ...facts, docker: '', 'docker-info': '', 'docker-containers': '', others: '' });
    await azpFleet('plan -o saved.json');
    const file = join(cwd, 'saved.json');
    const plan = readFileSync(file, 'utf8');
    expect(controls(plan)).toEqual([]);
    const changed = JSON.stringify(JSON.parse(plan), (key, value: unknown) =>
      key === 'title' || key === 'why' || key === 'what' ? evil : value,
    );
    writeFileSync(file, changed);
    const result = await azpFleet('provision --dry-run --plan saved.json');
    expectClean(result);
    expect(result.stdout).toMatch(words);
  });
});

describe('the manager', () => {
  const status = JSON.parse(facts['manager-status'].slice('present\n'.length)) as unknown;

  test.each([
    [
      'what it ran',
      'logs gpu-1',
      {
        '/v1/runs': [
          {
            schema: 1,
            run: evil,
            slot: evil,
            agent: evil,
            image: '',
            gpus: [],
            finishedAt: evil,
            oomKilled: false,
            job: evil,
            result: evil,
            log: [evil],
          },
        ],
      },
    ],
    ['the status after a drain', 'drain gpu-1', { '/v1/drain': {}, '/v1/status': status }],
    ['the status after an undrain', 'undrain gpu-1', { '/v1/undrain-own': {}, '/v1/status': status }],
    ['the log of a job', 'logs gpu-1/0', { '/v1/status': status, '/v1/logs': `${evil}\nsecond line\n` }],
    ['an error message', 'logs gpu-1/0', {}],
    ['invalid JSON', 'drain gpu-1', { '/v1/drain': {}, '/v1/status': `not JSON ${evil}` }],
    ['an invalid status', 'drain gpu-1', { '/v1/drain': {}, '/v1/status': { schema: 1, slots: [null] } }],
    ['an invalid list', 'logs gpu-1', { '/v1/runs': { length: 3 } }],
  ])('%s', async (_, line, replies) => {
    answers = replies;
    const result = await azpFleet(line);
    expectClean(result);
    expect(result.stdout + result.stderr).toMatch(/gpu-1|by a host/);
  });

  test('a log is unchanged in a pipe and complete in a document', async () => {
    answers = { '/v1/status': status, '/v1/logs': `${evil}\n` };
    expect((await azpFleet('logs gpu-1/0', false)).stdout).toBe(`${evil}\n`);
    const { stdout } = await azpFleet('logs --json gpu-1/0', false);
    expect(controls(stdout)).toEqual([]);
    expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ value: `${evil}\n` }] });
  });
});

test("a server's error message", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ message: evil, typeKey: evil }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  writeInventory('refusing.yaml', `http://127.0.0.1:${port}/lab`, host.port);
  const result = await runCommand(['pool', 'list', '-i', 'refusing.yaml'], { cwd, env, terminal: true });
  server.close();
  expectClean(result);
  expect(result.stderr).toMatch(words);
});

test('names in an invalid and in a shown inventory', async () => {
  const text = readFileSync(join(cwd, 'lab.yaml'), 'utf8');
  writeFileSync(join(cwd, 'odd.yaml'), text.replace('gpu-1:', `${JSON.stringify(evil)}:`));
  const refused = await runCommand(['inventory', 'check', 'odd.yaml'], { cwd, env, terminal: true });
  expect(refused.exitCode).toBe(2);
  expect(controls(refused.stdout + refused.stderr)).toEqual([]);
});
