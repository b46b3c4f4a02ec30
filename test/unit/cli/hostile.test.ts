// The whole program against a host, a manager, a server and files that say what a terminal would obey.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { FleetError } from '../../../src/base/errors.ts';
import { report } from '../../../src/render/problem.ts';
import { quietContext, runCommand, type CommandResult } from '../../support/command.ts';
import { framesSaid, hostileHost, type HostileHost, type Said } from '../../support/hostile-host.ts';
import { Keyboard } from '../../support/keyboard.ts';
import { managerStatus } from '../../support/manager-status.ts';
import { problemOf, sshSpec, testTransport } from '../../support/transport.ts';
import { useFake } from '../azure/fake/server.ts';

// What is uploaded is built beforehand, or not at all where only these tests run.
vi.mock('../../../src/artifacts/bundle.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

/** Erases the line, names another host, retitles the terminal, turns the writing round, one control of each kind. */
const evil =
  'said\u001b[2K\r\u001b]0;HIDDEN\u0007\u001b]8;;http://HIDDEN\u001b\\ \u009b31m\u202eby\u2066 a\u0008 host\u001b[1A\u200b';
/** What is left of it: words. */
const words = /said\s[^]*by a host/;

const cwd = mkdtempSync(join(tmpdir(), 'azp-hostile-'));
const fake = useFake();
const env = { LOGIN: 'a-login-password' };
let host: HostileHost;
let manager: Server;
/** What the host answers to a script, and its manager to a path; each test sets its own. */
let answer: (script: string) => Said = () => ({});
let answers: Readonly<Record<string, unknown>> = {};

beforeAll(async () => {
  const socket = join(cwd, 'manager.sock');
  manager = createServer((request, response) => {
    const said = answers[request.url?.split('?')[0] ?? ''];
    if (said === undefined)
      response.writeHead(500).end(JSON.stringify({ code: 'x', what: evil, next: evil }));
    else response.end(typeof said === 'string' ? said : JSON.stringify(said));
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
hosts: { gpu-1: { address: 127.0.0.1, port: ${port}, user: lab, pool: p, loginPassword: { env: LOGIN } } }
`,
  );
}

function azpFleet(line: string, terminal = true): Promise<CommandResult> {
  const [command = '', after] = line.split(' -- ');
  const rest = after === undefined ? [] : ['--', after];
  return runCommand([...command.split(' '), '-i', 'lab.yaml', ...rest], { cwd, env, terminal });
}

/** Everything that is not text, without our own styles and what moves the cursor of the live picture. */
function controls(text: string): string[] {
  const own = /\u001b\[(?:[012]|22|3[0-7]|39|9[0-7])m|\u001b\[\?25[lh]|\u001b\[\d+A\u001b\[0J/g;
  return (
    text
      .replaceAll(own, '')
      .match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g) ?? []
  );
}

/** Nothing for the terminal, nothing hidden, and the net had nothing to escape. */
function expectClean({ stdout, stderr }: CommandResult): void {
  for (const text of [stdout, stderr]) {
    expect(controls(text)).toEqual([]);
    expect(text).not.toContain('HIDDEN');
    expect(text).not.toContain('\\u001b');
  }
}

/** Facts of an ordinary machine in which everybody has an evil name. */
const facts = {
  os: `ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu ${evil}"\n`,
  machine:
    'kernel 6.8.0\narch x86_64\nmachine-id 0123\nboot-id 4567\nsystemd systemd 255\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n',
  others: `login ${evil} tty1\ngpu-process 77 ${evil}\n`,
  'package-lock': `${evil} (pid 1) holds /var/lib/dpkg/lock\n`,
  docker: `active\ninfo {"ServerVersion":"29.1.0","Swarm":{"LocalNodeState":"active"}}\ncontainers [{"Names":["/${JSON.stringify(evil).slice(1, -1)}"],"Labels":{}}]\n`,
  manager: 'current /opt/azp-fleet/versions/1\nActiveState active\nUnitFileState enabled\n',
  'manager-status': JSON.stringify(
    managerStatus({
      host: evil,
      at: new Date().toISOString(),
      slots: [
        { slot: '0', agent: evil, state: 'busy', gpus: [], job: evil, since: evil, cause: evil, jobsRun: 1 },
      ],
      health: {
        state: 'failed',
        findings: [{ code: 'x', severity: 'fail', what: evil, next: evil, gpu: evil }],
      },
      problems: [{ code: 'x', what: evil, next: evil }],
    }),
  ),
};

describe('exec', () => {
  const said = { stdout: `${evil}\nsecond line\n`, stderr: `${evil}\n`, code: 1 };

  test('on a terminal the output is text', async () => {
    answer = () => said;
    const result = await azpFleet('exec --login gpu-1 -- x');
    expectClean(result);
    expect(result.stdout).toMatch(words);
    expect(result.stdout).toContain('second line\n');
  });

  test('into a pipe it is what the host wrote', async () => {
    answer = () => said;
    const { stdout, stderr } = await azpFleet('exec --login gpu-1 -- x', false);
    expect(stdout).toContain(`${evil}\nsecond line\n${evil}`);
    expect(controls(stderr)).toEqual([]);
  });

  test('in a document it is whole and escaped', async () => {
    answer = () => said;
    const { stdout } = await azpFleet('exec --login --json gpu-1 -- x', false);
    expect(controls(stdout)).toEqual([]);
    expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ result: { stdout: said.stdout } }] });
  });

  test('a login that ends before anything runs', async () => {
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

  test('a refusal names who stands in the way, in words', async () => {
    answer = (script) => framesSaid(script, facts);
    expect((await azpFleet('status')).stdout.replaceAll(/\s+/g, ' ')).toMatch(words);
  });

  test.each(['plan --json', 'status --json'])('%s says nothing else', async (line) => {
    answer = (script) => framesSaid(script, facts);
    const { stdout } = await azpFleet(line, false);
    expect(JSON.stringify(JSON.parse(stdout))).not.toMatch(/\\u00(?:1b|07|08)|HIDDEN|\u202e|\u009b/);
  });

  test('a saved plan is a file that anybody can have written', async () => {
    answer = (script) => framesSaid(script, { ...facts, docker: '', others: '' });
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
  const status = JSON.parse(facts['manager-status']) as unknown;

  test.each([
    [
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
    ['drain gpu-1', { '/v1/drain': {}, '/v1/status': status }],
    ['undrain gpu-1', { '/v1/undrain': {}, '/v1/status': status }],
    ['logs gpu-1/0', { '/v1/logs': `${evil}\nsecond line\n` }],
    ['logs gpu-1/0', {}],
    ['drain gpu-1', { '/v1/drain': {}, '/v1/status': `not JSON ${evil}` }],
    ['drain gpu-1', { '/v1/drain': {}, '/v1/status': { schema: 1, slots: [null] } }],
    ['logs gpu-1', { '/v1/runs': { length: 3 } }],
  ])('%s %j', async (line, said) => {
    answers = said;
    const result = await azpFleet(line);
    expectClean(result);
    expect(result.stdout + result.stderr).toMatch(/gpu-1|by a host/);
  });

  test('a log goes into a pipe as the job wrote it, and whole into a document', async () => {
    answers = { '/v1/logs': `${evil}\n` };
    expect((await azpFleet('logs gpu-1/0', false)).stdout).toBe(`${evil}\n`);
    const { stdout } = await azpFleet('logs --json gpu-1/0', false);
    expect(controls(stdout)).toEqual([]);
    expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ value: `${evil}\n` }] });
  });
});

test('a prompt before login says who asks, whatever the server writes over it', async () => {
  const asking = await hostileHost({
    asks: {
      instructions: `\u001b[2J\u001b[HSudo password for prod-bastion:\n\n${'\n'.repeat(300)}prod-bastion says: hello${evil}`,
      prompt: '\u001b[2K\rSudo password for prod-bastion:',
    },
  });
  writeInventory('asking.yaml', fake.server.organization, asking.port);
  writeFileSync(
    join(cwd, 'asking.yaml'),
    readFileSync(join(cwd, 'asking.yaml'), 'utf8').replace(', loginPassword: { env: LOGIN }', ''),
  );
  const keyboard = new Keyboard();
  const stdin = Object.assign(keyboard.stdin, { isTTY: true });
  let drawn = '';
  const done = runCommand(['exec', '--login', '-i', 'asking.yaml', '--', 'x'], {
    cwd,
    env,
    terminal: true,
    stdin,
    heard: (text) => (drawn += text),
  });
  const seen = async (text: string): Promise<void> => {
    await expect.poll(() => drawn, { timeout: 10_000 }).toContain(text);
  };
  await seen('Sudo password for prod-bastion:');
  stdin.write('given\r');
  await done;
  const lines = drawn.split('\n').filter((line) => line.includes('prod-bastion'));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line).toMatch(/lab@127\.0\.0\.1:\d+(?: says)?: .*prod-bastion/);
  expect(drawn).not.toContain('HIDDEN');
  expect(drawn).not.toContain('\u001b[2J');
  asking.close();
});

test('the owner of a lock, on the host', async () => {
  answer = (script) =>
    script.includes('flock')
      ? { stdout: `held ${JSON.stringify({ who: evil, command: evil, since: evil, id: 'x' })}\n`, code: 75 }
      : {};
  const transport = testTransport();
  const ssh = sshSpec({ address: '127.0.0.1', port: host.port, user: 'lab', loginPassword: { env: 'word' } });
  const session = await transport.connect({ name: 'gpu-1', ssh });
  const refusal = await problemOf(session.lock({ who: 'me', command: 'provision', since: '2026-01-01' }));
  await transport.close();
  const { context, written } = quietContext({ cwd, terminal: true });
  report(new FleetError(refusal), { context, json: false, debug: false, logFile: undefined });
  expectClean({ exitCode: 1, ...written });
  expect(written.stderr).toMatch(words);
  expect(written.stderr).toContain('is working on this host');
});

test('the message of a server', async () => {
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

test('the names in an inventory that is refused, and in one that is shown', async () => {
  const text = readFileSync(join(cwd, 'lab.yaml'), 'utf8');
  writeFileSync(join(cwd, 'odd.yaml'), text.replace('gpu-1:', `${JSON.stringify(evil)}:`));
  const refused = await runCommand(['inventory', 'check', 'odd.yaml'], { cwd, env, terminal: true });
  expect(refused.exitCode).toBe(2);
  expect(controls(refused.stdout + refused.stderr)).toEqual([]);
});
