import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseArguments } from '../../../../src/manager/start/arguments.ts';
import { parseConfig, standaloneConfig, tokenPaths } from '../../../../src/manager/start/configuration.ts';
import { config } from '../../../support/manager-config.ts';

const standalone = (...args: readonly string[]) => {
  const base = ['run', '--url', 'https://dev.azure.com/lab', '--pool', 'gpu', '--token-file', '/t'];
  return standaloneConfig(parseArguments([...base, ...args]).values, 'box');
};

test('a standalone machine needs URL, pool and token file', () => {
  expect(standalone()).toMatchObject({
    host: 'box',
    pool: 'gpu',
    agents: { kind: 'one-per-gpu' },
    image: { kind: 'build' },
  });
});

test('the short options work', () => {
  expect(standalone('-n', '3', '--name', 'big', '-d', 'me/agent:1')).toMatchObject({
    host: 'big',
    agents: { kind: 'count', count: 3 },
    image: { kind: 'registry', reference: 'me/agent:1' },
  });
});

test.each([
  [['--volume', '/a:/b'], '--volume /a:/b is not HOST:CONTAINER:ENV'],
  [['--volume', 'a:/b:C'], '--volume a:/b:C is not HOST:CONTAINER:ENV'],
  [['--pool', 'a\u001b[2Jb'], '--pool has a control character'],
  [['--name', 'a\nb'], '--name has a control character'],
  [['-n', '0'], '--agents must be a whole number from 1 on'],
])('%j is refused', (args, what) => {
  expect(() => standalone(...args)).toThrow(what);
});

test('an unknown option is refused', () => {
  expect(() => parseArguments(['run', '--poll-time', '5'])).toThrow("Unknown option '--poll-time'");
});

test('a URL with a project is refused', () => {
  expect(() =>
    standaloneConfig(
      parseArguments(['run', '--url', 'https://dev.azure.com/lab/vision', '--pool', 'p']).values,
      'b',
    ),
  ).toThrow('contains more than the organization');
});

test('a configuration of another version keeps unknown keys and gets defaults for missing ones', () => {
  const { metricsPort: _, ...older } = config();
  expect(parseConfig(JSON.stringify({ ...older, future: 1 }), 'f')).toMatchObject({
    metricsPort: 0,
    future: 1,
  });
});

test('keys of an earlier release for tests have no effect', () => {
  const before = { ...config(), sysroot: '/opt/azp-lab-sysroot', clockScale: 20 };
  const { sysroot: _, clockScale: __, ...rest } = parseConfig(JSON.stringify(before), 'f') as typeof before;
  expect(rest).toEqual(config());
});

const onHost = { gpus: [], share: false, limits: {}, capabilities: [], mode: 'host' } as const;

test.each([
  ['{', 'it is not JSON'],
  ['{"schema":3}', 'its schema is 3'],
  ['{"schema":1}', '"host" is missing'],
  [
    JSON.stringify(config({ registration: 'config', agents: { kind: 'slots', slots: [onHost] } })),
    'a slot with "mode": "host" has no image for "registration": "config"',
  ],
])('the configuration %s is refused', (text, why) => {
  expect(() => parseConfig(text, '/etc/x')).toThrow(`the configuration /etc/x cannot be used: ${why}`);
});

describe('with the identity of the machine', () => {
  const identity = (changes: object, arc: object = {}): string =>
    JSON.stringify({ ...config(), credential: { kind: 'managed-identity', ...arc }, ...changes });

  test('no job starts without network isolation, whatever the file says', () => {
    expect(parseConfig(identity({}), 'f').fence).toBe('required');
    const slots = { agents: { kind: 'slots', slots: [onHost] } };
    expect(parseConfig(identity(slots), 'f').agents).toEqual(slots.agents);
  });

  test.each([
    [identity({ jobs: { docker: true, sudo: true } }), '"jobs.docker", "jobs.sudo"'],
    [identity({ registration: 'config' }), '"registration": "config"'],
    [identity({ agents: { kind: 'slots', slots: [onHost] } }, { arc: true }), 'a slot with "mode": "host"'],
  ])('the configuration %s is refused', (text, what) => {
    expect(() => parseConfig(text, '/etc/x')).toThrow(`"kind": "managed-identity" does not allow ${what}`);
  });
});

test('the token is the installed one, the copy that systemd loaded, or the named file', () => {
  expect(tokenPaths(undefined, '/run/credentials/x', '/etc/azp-fleet/token')).toEqual([
    '/etc/azp-fleet/token',
    '/run/credentials/x/token',
  ]);
  expect(tokenPaths(undefined, undefined, '/etc/azp-fleet/token')).toEqual(['/etc/azp-fleet/token']);
  expect(tokenPaths('/mine', '/run/credentials/x', '/etc/azp-fleet/token')).toEqual(['/mine']);
});

test('the documented configuration of a standalone machine is valid', () => {
  const page = readFileSync('docs/manager.md', 'utf8');
  const [, text = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
  const shown = parseConfig(text, 'docs');
  expect(shown).toMatchObject({ credential: { kind: 'service-principal' }, proxy: { ca: true } });
  const known = new Set([...Object.keys(config()), 'gpus']);
  expect(Object.keys(shown).filter((key) => !known.has(key))).toEqual([]);
});
