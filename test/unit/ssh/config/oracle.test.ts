import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { describeConnection } from '../../../../src/ssh/config/describe.ts';
import { resolveConnection } from '../../../../src/ssh/config/resolve.ts';
import { realWorld } from '../../../../src/ssh/config/world.ts';
import { sshSpec } from '../../../support/transport.ts';

// The oracle is the system's own ssh: what we resolve equals `ssh -F FILE -G HOST`, option by option.
const corpus: readonly (readonly [file: string, hosts: readonly string[]])[] = [
  ['basics.conf', ['plain', 'quoted', 'other', 'upsilon', 'UPPER', 'upper', 'PLAIN', 'unknown']],
  [
    'patterns.conf',
    [
      'a.lab',
      'bad.lab',
      'gpu-01',
      'GPU-01',
      'gpu-1',
      'gpu-10',
      'x',
      '192.0.2.7',
      '2001:db8::7',
      'gpu-7.rack1',
    ],
  ],
  ['match.conf', ['alias', 'target.example', 'no.example', 'other', 'target2', 'eq', 'x']],
  ['final.conf', ['short', 'long.example', 'x']],
  ['include.conf', ['included', 'off', 'never-this', 'y.example']],
  ['proxy.conf', ['chain', 'command', 'jump-first', 'no-jump', 'no-command', 'x']],
  [
    'files.conf',
    [
      'several',
      'tokens',
      'nowhere',
      'agent',
      'agent-variable',
      'agent-default',
      'twice',
      'strict',
      'new',
      'x',
    ],
  ],
  ['times.conf', ['minutes', 'hours', 'none', 'none-then-set', 'algorithms']],
];

/** Options that are lists with us, and how ssh prints them: one line each, or all on one. */
const repeated = new Set(['identityfile']);
const joined = new Set(['userknownhostsfile', 'globalknownhostsfile']);

const folder = mkdtempSync(join(tmpdir(), 'azp-oracle-'));
cpSync(join(import.meta.dirname, '../../../fixtures/ssh-config'), folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

const noSsh = spawnSync('ssh', ['-V']).error !== undefined;
const { homedir, username } = userInfo();
const env = { ...process.env, MY_AGENT: '/run/my-agent' };

for (const [name, hosts] of corpus) {
  const file = join(folder, name);
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('FOLDER', folder));
  test.for(hosts)(`${name}: %s`, async (host, { annotate }) => {
    if (noSsh) {
      await annotate('ssh is not installed: nothing to compare with');
      return;
    }
    const theirs = sshOptions(file, host);
    const files = { user: file, system: undefined };
    const world = realWorld(homedir, username, env);
    const { from, ...ours } = describeConnection(resolveConnection(host, sshSpec({}), files, world, env));
    const expected: Record<string, unknown> = {};
    const actual: Record<string, unknown> = {};
    for (const [option, value] of Object.entries(ours)) {
      // Where nobody set an option we have defaults of our own (a connection must not wait for ever).
      if (from[option] === 'default') continue;
      actual[option] = joined.has(option)
        ? (value as string[]).join(' ')
        : repeated.has(option)
          ? value
          : plain(value);
      expected[option] = repeated.has(option) ? theirs.get(option) : theirs.get(option)?.[0];
    }
    for (const option of ['proxyjump', 'proxycommand', 'hostkeyalias', 'port', 'user', 'hostname']) {
      expected[option] = theirs.get(option)?.[0];
      actual[option] = plain(ours[option]);
    }
    expect(actual).toEqual(expected);
  });
}

function plain(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined;
}

function sshOptions(file: string, host: string): Map<string, string[]> {
  const options = new Map<string, string[]>();
  const output = execFileSync('ssh', ['-F', file, '-G', host], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for (const line of output.split('\n')) {
    const [option = '', ...value] = line.split(' ');
    options.set(option, [...(options.get(option) ?? []), value.join(' ')]);
  }
  return options;
}
