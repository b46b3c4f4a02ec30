import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { foldNames } from '../../../../src/fleet/inventory/fold-names.ts';
import { readTargets, selectHosts } from '../../../../src/fleet/inventory/select.ts';
import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { fleet, lines } from './fixture.ts';

const lab = fleet(`
defaults: { pool: p }
groups:
  hopper: { hosts: [h200-1, h200-2, h200-10] }
hosts:
  h200-1: { labels: { site: b12 } }
  h200-2: { labels: { site: b13 } }
  h200-10: {}
  rtx.box: { labels: { site: b12, rack: 7 } }
`);

const namedHost = (name: string): readonly HostSpec[] =>
  lab.hosts.slice(0, 1).map((host) => ({ ...host, name, groups: [] }));

function select(...patterns: string[]): string {
  return selectHosts(lab, patterns)
    .map((host) => host.name)
    .join(' ');
}

test.each([
  [[], 'h200-1 h200-2 h200-10 rtx.box'],
  [['all'], 'h200-1 h200-2 h200-10 rtx.box'],
  [['all,!hopper'], 'rtx.box'],
  [['rtx.box,all'], 'h200-1 h200-2 h200-10 rtx.box'],
  [['rtx.box'], 'rtx.box'],
  [['hopper'], 'h200-1 h200-2 h200-10'],
  [['hop*'], 'h200-1 h200-2 h200-10'],
  [['h200-?'], 'h200-1 h200-2'],
  [['h200-[2-9]'], 'h200-2'],
  [['h200-[1-2]'], 'h200-1 h200-2'],
  [['h200-[1,2]'], 'h200-1 h200-2'],
  [['h200-[1-10]'], 'h200-1 h200-2 h200-10'],
  [['h200-[2-10],rtx.box'], 'h200-2 h200-10 rtx.box'],
  [['h200-[1,9-10], rtx.box'], 'h200-1 h200-10 rtx.box'],
  [['!h200-[2-10]'], 'h200-1 rtx.box'],
  [['h[1-2]00-1'], 'h200-1'],
  [['h[100-200]-[1-10]'], 'h200-1 h200-2 h200-10'],
  [['site=b[10-12]'], 'h200-1 rtx.box'],
  [['site=b12'], 'h200-1 rtx.box'],
  [['site=b1*'], 'h200-1 h200-2 rtx.box'],
  [['rack=7'], 'rtx.box'],
  [['rtx.box,h200-1'], 'h200-1 rtx.box'],
  [['rtx.box', 'h200-1'], 'h200-1 rtx.box'],
  [['hopper,!h200-10'], 'h200-1 h200-2'],
  [['!site=b12'], 'h200-2 h200-10'],
  [['*,!hopper'], 'rtx.box'],
  [[' rtx.box , '], 'rtx.box'],
])('%j selects %s', (patterns, expected) => {
  expect(select(...patterns)).toBe(expected);
});

test.each([
  [
    ['h200-3'],
    'no host, group or label matches h200-3',
    'did you mean "h200-1"? azp-fleet inventory list shows them all',
  ],
  [
    ['h200-[001-010]'],
    'no host, group or label matches h200-[001-010]',
    'list the hosts, groups and labels: azp-fleet inventory list',
  ],
  [
    ['site=b21'],
    'no host, group or label matches site=b21',
    'did you mean "site=b12"? azp-fleet inventory list shows them all',
  ],
  [
    ['rtxxbox'],
    'no host, group or label matches rtxxbox',
    'did you mean "rtx.box"? azp-fleet inventory list shows them all',
  ],
  [
    ['h20'],
    'no host, group or label matches h20',
    'did you mean "h200-1"? azp-fleet inventory list shows them all',
  ],
  [
    ['zebra'],
    'no host, group or label matches zebra',
    'list the hosts, groups and labels: azp-fleet inventory list',
  ],
  [
    ['hopper,!nope'],
    'no host, group or label matches nope',
    'list the hosts, groups and labels: azp-fleet inventory list',
  ],
  [
    ['hopper,!h200*'],
    'hopper,!h200* selects no host',
    'list the hosts, groups and labels: azp-fleet inventory list',
  ],
])('%j is rejected', (patterns, what, next) => {
  try {
    select(...patterns);
    expect.unreachable();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    expect(lines(error.problem)).toBe(`${what}\nnext: ${next}`);
    expect(error.exitCode).toBe(2);
  }
});

describe('names and --limit', () => {
  const both = (names: readonly string[], limits: readonly string[]) =>
    selectHosts(lab, names, limits)
      .map((host) => host.name)
      .join(' ');

  test.each([
    [['h200-1'], ['hopper'], 'h200-1'],
    [['hopper'], ['site=b12'], 'h200-1'],
    [['hopper'], ['h200-1', 'h200-2', 'rtx.box'], 'h200-1 h200-2'],
    [[], ['h200-1', 'rtx.box'], 'h200-1 rtx.box'],
    [[], ['hopper', '!h200-1'], 'h200-2 h200-10'],
    [['all'], ['rtx.box'], 'rtx.box'],
    [['rtx.box'], ['all'], 'rtx.box'],
    [['!h200-1'], ['hopper'], 'h200-2 h200-10'],
  ])('%j within %j is %s', (names, limits, expected) => {
    expect(both(names, limits)).toBe(expected);
  });

  test.each([
    [['h200-1'], ['h200-2'], 'h200-1 and --limit h200-2 have no host in common'],
    [
      ['rtx.box', 'h200-10'],
      ['h200-2', 'h200-1'],
      'rtx.box,h200-10 and --limit h200-2,h200-1 have no host in common',
    ],
    [[], ['!all'], '--limit !all selects no host'],
    [['!all'], ['h200-1'], '!all selects no host'],
    [['h200-1'], ['hoper'], 'no host, group or label matches hoper'],
  ])('%j within %j: %s', (names, limits, what) => {
    expect(() => both(names, limits)).toThrow(expect.objectContaining({ message: what, exitCode: 2 }));
  });
});

const hostName = fc
  .tuple(fc.constantFrom('gpu', 'n'), fc.nat(130), fc.constantFrom(1, 3), fc.constantFrom('', '-2', '.lab'))
  .map(([start, value, width, end]) => `${start}${String(value).padStart(width, '0')}${end}`);

test('a label that is a glob is matched as text, not used as a pattern', () => {
  const odd = fleet(`
defaults: { pool: p }
hosts:
  star: { labels: { site: '*', rack: 'b[1-2]' } }
  b12: { labels: { site: b12, rack: b1 } }
`);
  const select = (term: string) => selectHosts(odd, [term]).map(({ name }) => name);
  expect(select('site=b12')).toEqual(['b12']);
  expect(select('site=[*]')).toEqual(['star']);
  expect(select('site=*')).toEqual(['star', 'b12']);
  expect(select('rack=b1')).toEqual(['b12']);
  expect(select('!site=[*]')).toEqual(['b12']);
});

test('folded names select exactly those hosts', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(hostName, { maxLength: 40 }),
      fc.uniqueArray(hostName, { minLength: 1, maxLength: 40 }),
      (others, named) => {
        const hosts = [...new Set([...others, ...named])].flatMap(namedHost);
        const selected = selectHosts({ hosts }, [foldNames(named)]);
        expect(selected.map(({ name }) => name).toSorted()).toEqual(named.toSorted());
      },
    ),
  );
});

describe('targets', () => {
  const named = (given: readonly string[]) => {
    const { hosts, namesOn } = readTargets(given);
    return selectHosts(lab, hosts).map((host) => [host.name, ...namesOn(host)].join(' '));
  };

  test.each<[readonly string[], readonly string[]]>([
    [['h200-1'], ['h200-1']],
    [['h200-1/0'], ['h200-1 0']],
    [['h200-1/0,h200-2/h200-2-1'], ['h200-1 0', 'h200-2 h200-2-1']],
    [['h200-1/0', 'h200-1/1', 'h200-1/0'], ['h200-1 0 1']],
    [['h200-1/0', 'h200-1'], ['h200-1']],
    [['hopper/0,!h200-10'], ['h200-1 0', 'h200-2 0']],
    [['h200-[1-2]/gpu/0'], ['h200-1 gpu/0', 'h200-2 gpu/0']],
    [['site=b12'], ['h200-1', 'rtx.box']],
    [
      ['all/0', 'rtx.box'],
      ['h200-1 0', 'h200-2 0', 'h200-10 0', 'rtx.box'],
    ],
    [[], ['h200-1', 'h200-2', 'h200-10', 'rtx.box']],
  ])('%j are %j', (given, expected) => {
    expect(named(given)).toEqual(expected);
  });

  test.each(['/0', 'h200-1/', '!h200-1/0'])('%s is refused', (term) => {
    expect(() => readTargets([term])).toThrow(`${term} is not a target`);
  });

  test('a command for whole hosts says so, and which commands take slots', () => {
    expect(() => selectHosts(lab, ['h200-1/0'])).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({
          code: 'usage.target',
          what: 'h200-1/0 names a slot, and this takes whole hosts',
          next: 'write h200-1; drain, undrain, adopt, logs and status take HOST/SLOT',
        }) as object,
      }) as Error,
    );
  });

  test.each(['', ' ', ','])('"%s" selects no host, not every host', (pattern) => {
    expect(() => selectHosts(lab, readTargets([pattern]).hosts)).toThrow('"" selects no host');
    expect(() => selectHosts(lab, [pattern])).toThrow('"" selects no host');
  });
});
