// `status --watch` on a real terminal: hosts that answer, one that stops, and many that never say a word.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { columnsOf } from '../../src/shared/base/columns.ts';
import { clockVariable } from '../../src/shared/base/practice.ts';
import { Terminal } from '../../practice/lab/terminal.ts';
import { requireCurrentBuild } from '../support/current-build.ts';
import { framesSaid, hostileHost, type HostileHost } from '../support/hostile-host.ts';
import { practiceFleet, type PracticeFleet, workingFacts } from '../support/practice-fleet.ts';
import { useFake } from '../unit/practice/azure/server.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'azp-watch-'));
const fake = useFake();
/** Takes connections and never says a word. */
const silent = createServer();
const pidFile = join(folder, 'pid');
let fleet: PracticeFleet;
let leaving: HostileHost;
let terminal: Terminal | undefined;

beforeAll(async () => {
  requireCurrentBuild(root);
  await once(silent.listen(0, '0.0.0.0'), 'listening');
  fleet = await practiceFleet(folder);
});
afterAll(() => {
  fleet.close();
  silent.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  leaving = await hostileHost({ answer: (script) => framesSaid(script, workingFacts('44')) });
});
afterEach(() => {
  terminal?.close();
  terminal = undefined;
  leaving.close();
});

/** Starts the command on this many hosts. Its waits are 20 times as short. */
function start(count: number, size: { readonly columns: number; readonly rows: number }): Terminal {
  const address = silent.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const place = (n: number) => `127.0.${1 + Math.floor(n / 200)}.${1 + (n % 200)}`;
  const more = Array.from(
    { length: count - 4 },
    (_, n) => `gpu-${n}: { address: ${place(n)}, port: ${port} }`,
  );
  const hosts = [
    ...fleet.hosts.slice(0, 3),
    `leaving: { address: 127.0.0.1, port: ${leaving.port} }`,
    ...more,
  ];
  writeFileSync(
    join(folder, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${hosts.map((each) => `  ${each}\n`).join('')}`,
  );
  const command = `sh -c 'echo $$ > ${pidFile}; exec ${execPath} ${root}/bin/azp-fleet.js status --watch'`;
  const env = { HOME: folder, XDG_STATE_HOME: folder, LOGIN: 'a-login-password', [clockVariable]: '20' };
  return new Terminal(command, { ...size, cwd: folder, env });
}

function expectFits(
  screen: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): void {
  const lines = screen.split('\n');
  expect(lines.length).toBeLessThanOrEqual(rows);
  expect(lines.filter((line) => columnsOf(line) > columns)).toEqual([]);
}

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 200, rows: 60 },
];

describe.each(sizes)('$columns × $rows', (size) => {
  test.each([4, 300])('%i hosts: counts, groups, scrolling, filter, one host and back', async (count) => {
    terminal = start(count, size);
    const shown = await terminal.see(/FAILED \(4\)\n› h200-1 /);
    expectFits(shown, size);
    expect(shown).toMatch(/^\d+ hosts.* failed.*:\d\d UTC$/m);
    expect(terminal.modes()).toEqual({ cursor: false, alternate: true });
    terminal.press('Down');
    await terminal.see(/^› l40s-1 /m);
    terminal.type('/RTX-');
    await terminal.see('/RTX-▏');
    await terminal.see(/^› rtx-box /m);
    terminal.press('Enter');
    await terminal.see(`filter "RTX-": 1 of ${count} hosts`);
    terminal.press('Enter');
    expectFits(await terminal.see('drained by ann@laptop: a new fan'), size);
    terminal.press('Escape');
    await terminal.see('filter "RTX-"');
    terminal.press('Escape');
    expectFits(await terminal.see('FAILED (4)'), size);
    terminal.press('End');
    await terminal.see(count === 300 ? '› gpu-295' : '› leaving');
    terminal.type('q');
    const left = await terminal.see('[exit 0]');
    expect(left).not.toContain('FAILED');
    expect(terminal.modes()).toEqual({ cursor: true, alternate: false });
  });
});

test('a host that goes shows since when, its last answer is old, and the others are not affected', async () => {
  terminal = start(4, { columns: 120, rows: 30 });
  await terminal.see(/^ +leaving .*?(?:degraded|failed|unknown|healthy)/m);
  leaving.leave();
  await terminal.see(/UNREACHABLE \(1\)/);
  const screen = await terminal.see(/^. leaving .*unreachable.*last answer \d+ s ago/m);
  expect(screen).toMatch(/^\d\d:\d\d:\d\d {2}leaving: unreachable: /m);
  expect(screen).toMatch(/^. h200-1 (?!.*last answer)/m);
  terminal.type('/leaving');
  terminal.press('Enter', 'Enter');
  const one = await terminal.see('below: what was last seen, which is old');
  expect(one).toMatch(/^leaving: unreachable since \d\d:\d\d:\d\d UTC/m);
});

test('the size of the terminal changes', async () => {
  terminal = start(300, { columns: 80, rows: 24 });
  await terminal.see('FAILED (4)');
  terminal.resize(200, 60);
  await terminal.see(/^\d.* {60,}.*UTC$/m);
  terminal.resize(60, 16);
  await terminal.see(/^q quit/m);
  expectFits(terminal.screen(), { columns: 60, rows: 16 });
});

test.each([
  ['Ctrl-C', () => terminal?.press('C-c')],
  ['SIGINT', () => process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGINT')],
  ['SIGTERM', () => process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM')],
  ['SIGHUP', () => process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGHUP')],
])('%s restores the terminal and exits with 130', async (_, interrupt) => {
  terminal = start(300, { columns: 80, rows: 24 });
  await terminal.see('FAILED (4)');
  interrupt();
  await terminal.see('[exit 130]');
  expect(terminal.modes()).toEqual({ cursor: true, alternate: false });
});
