// Each source of hostile text with each output: a terminal with live progress, a pipe, a JSON document, the debug log. No
// output contains control, invisible or bidirectional characters.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { createFileLogger } from '../../../src/shared/base/file-log.ts';
import { runCommand, type CommandResult } from '../../support/command.ts';
import { StillClock } from '../../support/clock.ts';
import { hostileAgent } from '../../support/hostile-agent.ts';
import { framesSaid, hostileHost, type HostileHost } from '../../support/hostile-host.ts';
import { controls, evil, words } from '../../support/hostile-words.ts';
import { managerStatus } from '../../support/manager-status.ts';
import { disconnect, facts } from './foreign-answers.ts';
import type { Source } from './foreign-connections.ts';
import { sources } from './foreign-sources.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const cwd = mkdtempSync(join(tmpdir(), 'azp-foreign-'));
const env = {
  LOGIN: 'a-login-password',
  TOKEN: 'a-token',
  PATH: process.env['PATH'] ?? '',
  SHELL: '/bin/sh',
};
let now: Source = { source: '', command: '', shown: 'perhaps' };
let host: HostileHost;
let azurePort = 0;
const closing: (() => void)[] = [];

function portOf(server: Server): number {
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  const socket = join(cwd, 'manager.sock');
  const manager = createHttpServer((request, response) => {
    const answer = now.manager?.[request.url?.split('?')[0] ?? ''];
    if (answer === undefined)
      response.writeHead(500).end(JSON.stringify({ code: 'x', what: evil, next: evil, seen: evil }));
    else response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => void manager.listen(socket, resolve));
  closing.push(() => manager.close());
  const azure = createHttpServer((request, response) => {
    const [status, body] = now.azure?.(request.url ?? '') ?? [200, { value: [] }];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => void azure.listen(0, '127.0.0.1', resolve));
  azurePort = portOf(azure);
  host = await hostileHost({ answer: (script) => now.host?.(script) ?? {}, managerSocket: socket });
  closing.push(() => host.close());
});

afterAll(() => {
  for (const close of closing) close();
  rmSync(cwd, { recursive: true });
});

/** Returns the port of this source's server. */
async function portFor({ ssh, bytes }: Source): Promise<number> {
  if (bytes !== undefined) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write(bytes);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return portOf(server);
  }
  if (ssh === undefined) return host.port;
  const own = await hostileHost(ssh);
  closing.push(() => own.close());
  return own.port;
}

async function run(
  source: Source,
  { terminal = false, json = false },
): Promise<CommandResult & { log: string }> {
  now = source;
  const { command, keys = '', files = {}, user, agent, token = '{ env: TOKEN }' } = source;
  const port = await portFor(source);
  const placed = (text: string): string => text.replaceAll('FOLDER', cwd).replaceAll('PORT', String(port));
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(cwd, name), placed(text), { mode: 0o600 });
  const place = `address: ${source.address ?? '127.0.0.1'}, port: ${port}, user: lab, pool: p`;
  const own = keys.includes('sshConfig') ? '' : 'sshConfig: none, ';
  writeFileSync(
    join(cwd, 'lab.yaml'),
    placed(`organization: ${source.organization ?? `http://127.0.0.1:${azurePort}/lab`}
token: ${token}
hosts: { gpu-1: { ${own}${place}, loginPassword: { env: LOGIN }${keys === '' ? '' : `, ${keys}`} } }
`),
  );
  const socket = join(cwd, 'agent.sock');
  const ownAgent = agent === undefined ? undefined : await hostileAgent(socket, agent);
  const file = join(cwd, 'debug.log');
  rmSync(file, { force: true });
  const log = createFileLogger(file, new StillClock());
  const rest = command.startsWith('exec') ? ['--', 'x'] : [];
  const argv = [...command.split(' '), '-i', 'lab.yaml', ...(json ? ['--json'] : []), ...rest];
  const more = Object.entries(source.env ?? {}).map(([name, value]) => [name, placed(value)]);
  const around = {
    ...env,
    ...Object.fromEntries(more),
    ...(agent === undefined ? {} : { SSH_AUTH_SOCK: socket }),
  };
  const result = await runCommand(argv, {
    cwd,
    env: around,
    terminal,
    log,
    ...(user === undefined ? {} : { user }),
  });
  ownAgent?.close();
  log.close();
  return { ...result, log: readFileSync(file, 'utf8') };
}

/** Commands whose output is raw without a terminal. */
const isRaw = /^(?:exec|logs gpu|logs --diag)/;

describe.each(sources)('$source: $command', (source) => {
  test('a terminal, a pipe, a document and the log get plain text', async () => {
    const terminal = await run(source, { terminal: true });
    const pipe = await run(source, {});
    const document = await run(source, { json: true });
    const outputs = {
      'the terminal': terminal.stdout + terminal.stderr,
      'the pipe': isRaw.test(source.command) ? pipe.stderr : pipe.stdout + pipe.stderr,
      'the document': document.stdout + document.stderr,
      'its log': terminal.log + document.log,
    };
    for (const [sink, text] of Object.entries(outputs)) {
      expect({ [sink]: controls(text) }).toEqual({ [sink]: [] });
      if (source.escaped === true || (sink === 'the document' && isRaw.test(source.command))) continue;
      expect(text).not.toContain('HIDDEN');
      // The escaping at the output found nothing.
      expect(text).not.toMatch(/\\u(?:00[01789]|20[26]|feff|d8)/);
    }
    expect(JSON.parse(document.stdout)).toMatchObject({ schema: 1 });
    for (const line of outputs['its log'].trim().split('\n')) if (line !== '') JSON.parse(line);
    const all = Object.values(outputs)
      .join('\n')
      .replaceAll(/\\n|\s+/g, ' ');
    if (source.shown === 'yes') expect(all).toMatch(words);
    if (source.shown === 'never') expect(all).not.toMatch(words);
  });
});

/** A text longer than any limit. */
const endless = `said ${'x'.repeat(300_000)} by a host`;

test.each<[string, Source]>([
  [
    'the system of a host',
    {
      source: 'os',
      command: 'status',
      host: (script) => framesSaid(script, { ...facts, os: `ID=ubuntu\nPRETTY_NAME="${endless}"\n` }),
      shown: 'perhaps',
    },
  ],
  [
    'a refusal of Azure DevOps',
    { source: 'azure', command: 'pool list', azure: () => [403, { message: endless }], shown: 'perhaps' },
  ],
  [
    'a status of a manager',
    {
      source: 'manager',
      command: 'drain --yes',
      manager: {
        '/v1/drain': {},
        '/v1/status': managerStatus({ problems: [{ code: 'bug', what: endless, next: endless }] }),
      },
      shown: 'perhaps',
    },
  ],
  [
    'the reason of a disconnect',
    { source: 'exec', command: 'trust', bytes: disconnect(endless.slice(0, 30_000)), shown: 'perhaps' },
  ],
])('an overlong text is truncated: %s', async (_, source) => {
  for (const way of [{ terminal: true }, {}, { json: true }]) {
    const { stdout, stderr, log } = await run(source, way);
    expect(stdout.length + stderr.length).toBeLessThan(60_000);
    expect(Math.max(...log.split('\n').map(({ length }) => length))).toBeLessThan(60_000);
  }
});
