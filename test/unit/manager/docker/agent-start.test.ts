// How the agent comes to run in a container, for real but for its place: the texts are run by a shell with another
// folder for /azp, and a listener of the test's own.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { builtImage } from '../../../../src/shared/contract/agent-release.ts';
import { agentStart } from '../../../../src/manager/docker/agent-setup.ts';

const ours = readFileSync(new URL('../../../../dockeragent/start.sh', import.meta.url), 'utf8');
const foreign =
  (agentStart({ kind: 'registry', reference: 'me/agent:1' }, 59_000).Entrypoint as string[]).at(-1) ?? '';
const starts: readonly (readonly [string, string])[] = [
  ['our image', ours],
  ["a user's image", foreign],
];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'start-'));
  mkdirSync(join(root, 'bin'));
  for (const name of ['.agent', '.credentials', '.credentials_rsaparams'])
    writeFileSync(join(root, name), '');
  const listener = `#!/bin/sh\necho "$$ $PWD $* $HOME"\ngrep SigIgn /proc/$$/status\nexit 3\n`;
  writeFileSync(join(root, 'bin/Agent.Listener'), listener, { mode: 0o755 });
});
afterEach(() => rmSync(root, { recursive: true }));

/** What the listener is told, and its process among others. */
function start(text: string, home: string) {
  const { pid, status, stdout } = spawnSync('/bin/sh', ['-c', text.replaceAll('/azp', root)], {
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
  });
  const [told = '', ignored = ''] = stdout.split('\n');
  return { pid, status, told, ignored };
}

test.each(starts)('in %s the listener takes the place of the shell, one job long', (_, text) => {
  const home = join(root, 'someone');
  const { pid, status, told } = start(text, home);
  expect(told).toBe(`${pid} ${root} run --once ${home}`);
  expect(status).toBe(3);
});

test.each(starts)('in %s no signal reaches the listener as ignored', (_, text) => {
  const mask = BigInt(`0x${start(text, root).ignored.split(/\s+/u)[1]}`);
  // SIGINT is bit 1, SIGQUIT bit 2: a shell ignores both for what it starts in the background.
  expect(mask & 0b110n).toBe(0n);
});

test.each(starts)('in %s the home has what keeps the agent fast', (_, text) => {
  const home = join(root, 'someone');
  start(text, home);
  expect(['.config', '.local/share'].map((name) => existsSync(join(home, name)))).toEqual([true, true]);
});

test.each(starts)('in %s a home that cannot be written gives way to one below the agent', (_, text) => {
  const { told } = start(text, '/proc/nobody');
  expect(told.endsWith(` ${join(root, 'home')}`)).toBe(true);
  expect(existsSync(join(root, 'home/.config'))).toBe(true);
});

test('without a registration our image says who starts it', () => {
  rmSync(join(root, '.agent'));
  chmodSync(root, 0o755);
  expect(start(ours, root).status).toBe(78);
});

test('our image is stopped as the manager stops it', () => {
  const dockerfile = readFileSync(new URL('../../../../dockeragent/Dockerfile', import.meta.url), 'utf8');
  expect(dockerfile).toMatch(/^STOPSIGNAL SIGINT$/mu);
  expect(agentStart(builtImage('x64'), 59_003)).toEqual({ User: '59003:4000', StopSignal: 'SIGINT' });
  // Not with -g: a SIGINT to the whole group makes the job fail instead of being canceled.
  expect(dockerfile).toMatch(/^ENTRYPOINT \["\/usr\/bin\/tini", "--", "\/bin\/sh", "\/azp\/start.sh"\]$/mu);
});
