// Runs the scripts that start an agent in a container, with a real shell, but another
// folder instead of /azp, and a listener written by the test.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { builtImage } from '../../../../src/shared/contract/agent-release.ts';
import { agentStart } from '../../../../src/manager/docker/agent-setup.ts';

const ownScript = readFileSync(new URL('../../../../dockeragent/start.sh', import.meta.url), 'utf8');
const foreignScript =
  (agentStart({ kind: 'registry', reference: 'me/agent:1' }, 59_000).Entrypoint as string[]).at(-1) ?? '';
const starts: readonly (readonly [string, string])[] = [
  ['our image', ownScript],
  ["a user's image", foreignScript],
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

/** Runs a script; returns the arguments of the listener and its process id. */
function start(text: string, home: string) {
  const { pid, status, stdout } = spawnSync('/bin/sh', ['-c', text.replaceAll('/azp', root)], {
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
  });
  const [listenerArguments = '', ignored = ''] = stdout.split('\n');
  return { pid, status, listenerArguments, ignored };
}

test.each(starts)('in %s the listener replaces the shell, for one job', (_, text) => {
  const home = join(root, 'someone');
  const { pid, status, listenerArguments } = start(text, home);
  expect(listenerArguments).toBe(`${pid} ${root} run --once ${home}`);
  expect(status).toBe(3);
});

test.each(starts)('in %s the listener ignores no signal', (_, text) => {
  const mask = BigInt(`0x${start(text, root).ignored.split(/\s+/u)[1]}`);
  // SIGINT is bit 1, SIGQUIT bit 2: a shell ignores both for what it starts in the background.
  expect(mask & 0b110n).toBe(0n);
});

test.each(starts)('in %s the home has the folders of the agent', (_, text) => {
  const home = join(root, 'someone');
  start(text, home);
  expect(['.config', '.local/share'].map((name) => existsSync(join(home, name)))).toEqual([true, true]);
});

test.each(starts)('in %s a home below the agent replaces one that is not writable', (_, text) => {
  const { listenerArguments } = start(text, '/proc/nobody');
  expect(listenerArguments.endsWith(` ${join(root, 'home')}`)).toBe(true);
  expect(existsSync(join(root, 'home/.config'))).toBe(true);
});

test('without a registration our image prints who starts it', () => {
  rmSync(join(root, '.agent'));
  chmodSync(root, 0o755);
  expect(start(ownScript, root).status).toBe(78);
});

test('our image has the stop signal of the manager', () => {
  const dockerfile = readFileSync(new URL('../../../../dockeragent/Dockerfile', import.meta.url), 'utf8');
  expect(dockerfile).toMatch(/^STOPSIGNAL SIGINT$/mu);
  expect(agentStart(builtImage('x64'), 59_003)).toEqual({ User: '59003:4000', StopSignal: 'SIGINT' });
  // Not with -g: a SIGINT to the whole group makes the job fail instead of being canceled.
  expect(dockerfile).toMatch(/^ENTRYPOINT \["\/usr\/bin\/tini", "--", "\/bin\/sh", "\/azp\/start.sh"\]$/mu);
});
