// The whole of `status --watch` in this process: how often it draws, what it leaves of the terminal, and who ends it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { commands } from '../../../../src/cli/commands.ts';
import { parseArguments } from '../../../../src/cli/parse.ts';
import { runCommand } from '../../../../src/cli/run-command.ts';
import { MovedClock } from '../../../support/clock.ts';
import { quietContext } from '../../../support/command.ts';
import { hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const cwd = mkdtempSync(join(tmpdir(), 'azp-watch-'));
const patience = { timeout: 60_000, interval: 5 };
/** It asks for a password in words that move the cursor, and says no more. */
let asking: HostileHost;
beforeAll(async () => {
  asking = await hostileHost({ asks: { instructions: '\u001b[2Jevil', prompt: 'Code: ' } });
  const entries = [
    'away: { address: 127.0.0.1, port: 9 }',
    `asks: { address: 127.0.0.1, port: ${asking.port} }`,
  ];
  for (const [name, hosts] of [
    ['away.yaml', entries.slice(0, 1)],
    ['asks.yaml', entries],
  ] as const)
    writeFileSync(
      join(cwd, name),
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, agents: 1, sshConfig: none }
hosts:
${hosts.map((each) => `  ${each}\n`).join('')}`,
    );
});
afterAll(() => {
  asking.close();
  rmSync(cwd, { recursive: true });
});

function start(inventory: string, signal?: AbortSignal) {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void modes.push(mode),
  });
  const size = { columns: 80, rows: 24 };
  const place = { cwd, terminal: size, stdin, clock: new MovedClock(20) };
  const { context, written } = quietContext(signal === undefined ? place : { ...place, signal });
  const io = { out: () => undefined, err: () => undefined, env: {}, version: '0', columns: 80 };
  const parsed = parseArguments(['status', '--watch', '-i', inventory], commands, io);
  if (parsed === undefined) throw new Error('not parsed');
  const ended = runCommand(context, parsed);
  const draws = () => written.stdout.split('\u001b[?2026h').length - 1;
  return { ended, stdin, modes, written, draws };
}

const left = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';

test('it draws at most four times a second, however many keys are pressed, and q restores the terminal', async () => {
  const { ended, stdin, modes, written, draws } = start('away.yaml');
  await vi.waitUntil(() => draws() > 0, patience);
  stdin.write('/');
  const [from, before] = [performance.now(), draws()];
  await vi.waitUntil(() => {
    stdin.write(written.stdout.length % 2 === 0 ? 'xyz' : '\u007f');
    return draws() >= before + 5;
  }, patience);
  // The first of them may have been due already.
  expect(performance.now() - from).toBeGreaterThanOrEqual(4 * 250 - 20);
  stdin.write('\u001b');
  stdin.write('q');
  expect(await ended).toBe(0);
  expect(modes).toEqual([true, false]);
  expect(written.stdout.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(written.stdout.endsWith(left)).toBe(true);
  expect(process.listeners('exit').some((listener) => String(listener).includes('restore'))).toBe(false);
});

test('a second screen draws only the lines that differ', async () => {
  const { ended, stdin, written, draws } = start('away.yaml');
  await vi.waitUntil(() => written.stdout.includes('UNREACHABLE (1)'), patience);
  const before = draws();
  await vi.waitUntil(() => draws() > before + 1, patience);
  const last = written.stdout.slice(written.stdout.lastIndexOf('\u001b[?2026h'));
  expect(last.match(/\u001b\[\d+;1H/g)?.length).toBeLessThan(5);
  stdin.write('\u0003');
  expect(await ended).toBe(130);
});

test('a signal restores the terminal and exits with 130', async () => {
  const stop = new AbortController();
  const { ended, modes, written, draws } = start('away.yaml', stop.signal);
  await vi.waitUntil(() => draws() > 0, patience);
  stop.abort();
  expect(await ended).toBe(130);
  expect(modes.at(-1)).toBe(false);
  expect(written.stdout.endsWith(left)).toBe(true);
});

test('a question of a host gets the terminal, clean, and the screen comes back after it', async () => {
  const { ended, stdin, modes, written } = start('asks.yaml');
  await vi.waitUntil(() => written.stderr.includes('Code:'), patience);
  expect(written.stdout.endsWith(left)).toBe(true);
  expect(written.stderr).not.toContain('\u001b[2Jevil');
  const before = written.stdout.length;
  stdin.write('no\r');
  await vi.waitUntil(() => written.stdout.slice(before).includes('\u001b[?1049h'), patience);
  expect(modes.at(-1)).toBe(true);
  await vi.waitUntil(() => written.stdout.slice(before).includes('q quit'), patience);
  stdin.write('q');
  expect(await ended).toBe(0);
});

test('Ctrl-C at a question ends the command and leaves the terminal', async () => {
  const { ended, stdin, modes, written } = start('asks.yaml');
  await vi.waitUntil(() => written.stderr.includes('Code:'), patience);
  stdin.write('\u0003');
  expect(await ended).toBe(130);
  expect(modes.at(-1)).toBe(false);
  expect(written.stdout.endsWith(left)).toBe(true);
});
