// Hostile text of a host before login, and in its lock.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { FleetError } from '../../../src/shared/base/errors.ts';
import { report } from '../../../src/cli/render/problem.ts';
import { quietContext, runCommand } from '../../support/command.ts';
import { hostileHost } from '../../support/hostile-host.ts';
import { evil, expectClean, words } from '../../support/hostile-words.ts';
import { Keyboard } from '../../support/keyboard.ts';
import { problemOf, sshSpec, testTransport } from '../../support/transport.ts';

const cwd = mkdtempSync(join(tmpdir(), 'azp-hostile-'));
afterAll(() => rmSync(cwd, { recursive: true }));

test('a prompt before login names its source, whatever the server writes over it', async () => {
  const asking = await hostileHost({
    asks: {
      name: `${evil} prod-bastion`,
      instructions: `\u001b[2J\u001b[HSudo password for prod-bastion:\n\n${'\n'.repeat(300)}prod-bastion says: hello${evil}`,
      // As wide as the terminal, so that the next character begins a row.
      prompt: `\u001b[2K\r${'-'.repeat(89)}Sudo password for prod-bastion:`,
    },
  });
  writeFileSync(
    join(cwd, 'asking.yaml'),
    `organization: https://dev.azure.com/example
token: { env: NONE }
hosts: { gpu-1: { address: 127.0.0.1, port: ${asking.port}, user: lab, pool: p, sshConfig: none } }
`,
  );
  const keyboard = new Keyboard();
  const stdin = Object.assign(keyboard.stdin, { isTTY: true });
  let drawn = '';
  const done = runCommand(['exec', '--login', '-i', 'asking.yaml', '--', 'x'], {
    cwd,
    terminal: true,
    stdin,
    heard: (text) => (drawn += text),
  });
  const seen = async (text: string): Promise<void> => {
    await expect.poll(() => drawn).toContain(text);
  };
  await seen('Sudo password for prod-bastion:');
  stdin.write('given\r');
  await done;
  const lines = drawn.split('\n').filter((line) => line.includes('prod-bastion'));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line).toMatch(/gpu-1 │ .*prod-bastion/);
  expect(drawn).toMatch(/lab@127\.0\.0\.1:\d+ asks, in its own words:\n/);
  expect(drawn).not.toContain('HIDDEN');
  expect(drawn).not.toContain('\u001b[2J');
  asking.close();
});

test.each([
  '{"who":{"toString":1},"command":[],"since":null}',
  '{"who":null}',
  '{}',
  '{"a":'.repeat(1000) + '1' + '}'.repeat(1000),
])('a lock with an invalid note: %.40s', async (note) => {
  const host = await hostileHost({ answer: () => ({ stdout: `held 12 ${note}\n`, code: 75 }) });
  const transport = testTransport();
  const ssh = sshSpec({ address: '127.0.0.1', port: host.port, user: 'lab', loginPassword: { env: 'word' } });
  const session = await transport.connect({ name: 'gpu-1', ssh });
  const refusal = await problemOf(session.lock({ who: 'me', command: 'provision', since: '2026-01-01' }));
  await transport.close();
  host.close();
  expect(refusal).toMatchObject({ code: 'ssh.locked', host: 'gpu-1', seen: 'a lock without an owner' });
});

test('the owner of a lock, on the host', async () => {
  const note = JSON.stringify({ who: evil, command: evil, since: evil, id: 'x' })
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  const host = await hostileHost({ answer: () => ({ stdout: `held 12 ${note}\n`, code: 75 }) });
  const transport = testTransport();
  const ssh = sshSpec({ address: '127.0.0.1', port: host.port, user: 'lab', loginPassword: { env: 'word' } });
  const session = await transport.connect({ name: 'gpu-1', ssh });
  const refusal = await problemOf(session.lock({ who: 'me', command: 'provision', since: '2026-01-01' }));
  await transport.close();
  host.close();
  const { context, written } = quietContext({ cwd, terminal: true });
  report(new FleetError(refusal), {
    context,
    command: 'provision',
    interrupted: false,
    json: false,
    debug: false,
    check: false,
    logFile: undefined,
  });
  expectClean({ exitCode: 1, ...written });
  expect(written.stderr).toMatch(words);
  expect(written.stderr).toContain('is working on this host');
});
