// The edit of the inventory: where the version is written, and that nothing else changes.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Lexer } from 'yaml';

import { setValues } from '../../../../src/fleet/inventory/document/set-values.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import { editInventory, type Meant, type Target, withTarget } from '../../../../src/fleet/upgrade/edit.ts';
import { stableJson } from '../../../../src/shared/base/digest.ts';

const context = { cwd: '/lab', home: '/root', env: {} };
const parse = (text: string) => parseFleet(text, 'lab.yaml', context);
const head = 'organization: https://dev.azure.com/example\ntoken: { env: T }\n';
const meant = (hosts: readonly string[], places: readonly string[] = []): Meant => ({
  hosts: new Set(hosts),
  places: new Set(places),
});
const driver580: Target = { part: 'driver', to: '580' };

/** Returns the lines of the text that the edit changed: `- ` before, `+ ` after. */
function changed(body: string, hosts: readonly string[], target = driver580, places: readonly string[] = []) {
  const before = head + body;
  const edited = editInventory(before, target, meant(hosts, places), parse);
  if (edited === undefined) return undefined;
  expect(stableJson(parse(edited.text))).toBe(stableJson(withTarget(parse(before), target, new Set(hosts))));
  const [old, now] = [before.split('\n'), edited.text.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line.trim()}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line.trim()}`),
  ];
}

describe('where the version is written', () => {
  const two = 'defaults: { pool: p }\nhosts:\n  a: {} # first\n  b: {}\n';
  const grouped =
    'defaults: { pool: p }\ngroups:\n  g: { vars: { driver: { branch: "570" } }, hosts: [a, b] }\nhosts:\n  a: {}\n  b: {}\n  c: {}\n';

  test.each<[string, string, readonly string[], readonly string[], readonly string[]]>([
    [
      'one of two hosts: at the host',
      two,
      ['a'],
      [],
      ['- a: {} # first', '+ a: { driver: { branch: "580" } } # first'],
    ],
    [
      'all hosts: at defaults',
      two,
      ['a', 'b'],
      ['defaults'],
      ['- defaults: { pool: p }', '+ defaults: { pool: p, driver: { branch: "580" } }'],
    ],
    [
      'all of a group: where the group sets it',
      grouped,
      ['a', 'b'],
      ['g'],
      [
        '- g: { vars: { driver: { branch: "570" } }, hosts: [a, b] }',
        '+ g: { vars: { driver: { branch: "580" } }, hosts: [a, b] }',
      ],
    ],
    ['a part of a group: at the host', grouped, ['a'], [], ['- a: {}', '+ a: { driver: { branch: "580" } }']],
    [
      'all hosts, and a group overrides the defaults: at both',
      grouped,
      ['a', 'b', 'c'],
      ['defaults'],
      [
        '- defaults: { pool: p }',
        '- g: { vars: { driver: { branch: "570" } }, hosts: [a, b] }',
        '+ defaults: { pool: p, driver: { branch: "580" } }',
        '+ g: { vars: { driver: { branch: "580" } }, hosts: [a, b] }',
      ],
    ],
    [
      'the only host of an inventory, by its name: at the host',
      'defaults: { pool: p }\nhosts: { a: {} }\n',
      ['a'],
      [],
      ['- hosts: { a: {} }', '+ hosts: { a: { driver: { branch: "580" } } }'],
    ],
    [
      'the only host, unnamed: at defaults',
      'defaults: { pool: p }\nhosts: { a: {} }\n',
      ['a'],
      ['defaults'],
      ['- defaults: { pool: p }', '+ defaults: { pool: p, driver: { branch: "580" } }'],
    ],
    [
      'an exact version becomes a branch, with its comment',
      'defaults: { pool: p }\nhosts:\n  a:\n    driver:\n      version: 570.133.20 # bug 7\n      flavor: open\n  b: {}\n',
      ['a'],
      [],
      ['- version: 570.133.20 # bug 7', '+ branch: "580" # bug 7'],
    ],
    [
      'a host without the part does not keep the value out of the defaults',
      'defaults: { pool: p }\nhosts:\n  a: {}\n  b: {}\n  cpu: { driver: none }\n',
      ['a', 'b'],
      ['defaults'],
      ['- defaults: { pool: p }', '+ defaults: { pool: p, driver: { branch: "580" } }'],
    ],
    [
      'a host without a value',
      'defaults: { pool: p }\nhosts:\n  a:\n    labels: { x: y }\n  b: {}\n',
      ['a'],
      [],
      ['+ driver: { branch: "580" }'],
    ],
    [
      'no defaults',
      'hosts: { a: { pool: p }, b: { pool: p } }\n',
      ['a', 'b'],
      ['defaults'],
      ['+ defaults: { driver: { branch: "580" } }'],
    ],
    [
      'the version that is there: nothing',
      'defaults: { pool: p, driver: { branch: "580" } }\nhosts: { a: {} }\n',
      ['a'],
      [],
      [],
    ],
  ])('%s', (_, body, hosts, places, lines) => {
    expect(changed(body, hosts, driver580, places)).toEqual(lines);
  });

  test('an exact driver version, and the versions of the other parts', () => {
    const at = (part: Target['part'], to: string) => changed(two, ['a'], { part, to })?.at(-1);
    expect(at('driver', '580.95.05')).toBe(
      '+ a: { driver: { branch: "580", version: "580.95.05" } } # first',
    );
    expect(at('docker', '29.8.2')).toBe('+ a: { docker: { version: "29.8.2" } } # first');
    expect(at('toolkit', '1.20.0')).toBe('+ a: { toolkit: { version: "1.20.0" } } # first');
    expect(at('agent', '4.275.0')).toBe('+ a: { agent: { version: "4.275.0" } } # first');
  });

  test('digests of another version go with it', () => {
    const digest = 'a'.repeat(64);
    const body = `defaults: { pool: p }\nhosts:\n  a:\n    agent:\n      version: 4.275.0\n      sha256: { x64: ${digest} }\n  b: {}\n`;
    expect(changed(body, ['a'], { part: 'agent', to: '5.279.0' })).toEqual([
      '- version: 4.275.0',
      `- sha256: { x64: ${digest} }`,
      '+ version: "5.279.0"',
    ]);
  });

  test('a version that the inventory may not have is refused with its mistake', () => {
    const agent = `agent: { version: 4.275.0, sha256: { x64: ${'a'.repeat(64)} } }`;
    const body = `defaults: { pool: p, ${agent} }\nhosts: { a: {} }\nmirrors: { agent: "http://mirror.lab" }\n`;
    expect(() => changed(body, ['a'], { part: 'agent', to: '5.278.0' })).toThrow(
      'the agent is downloaded over plain http without a digest',
    );
  });

  test('an alias is no place to write to: the text stays', () => {
    const body =
      'defaults: { pool: p, driver: &d { branch: "570" } }\nhosts:\n  a: { driver: *d }\n  b: {}\n';
    expect(changed(body, ['a'])).toBeUndefined();
    expect(changed(body, ['b'])).toEqual(['- b: {}', '+ b: { driver: { branch: "580" } }']);
  });
});

test('Windows line ends stay', () => {
  const source = 'defaults:\r\n  pool: p # pool\r\nhosts:\r\n  a: {}\r\n';
  const edit = { path: ['defaults', 'driver'], set: { branch: '580' }, unset: [] };
  expect(setValues(source, [edit])).toBe(
    'defaults:\r\n  pool: p # pool\r\n  driver: { branch: "580" }\r\nhosts:\r\n  a: {}\r\n',
  );
});

test('several maps that end at one place', () => {
  const at = (...path: string[]) => ({ path, set: { version: '1' }, unset: [] });
  expect(
    setValues('defaults:\n  limits:\n    memory: 1g\n', [
      at('defaults', 'docker'),
      at('groups', 'g', 'vars', 'docker'),
    ]),
  ).toBe(
    'defaults:\n  limits:\n    memory: 1g\n  docker: { version: "1" }\ngroups: { g: { vars: { docker: { version: "1" } } } }\n',
  );
});

describe('any inventory', () => {
  const names = ['a1', 'a2', 'b1', 'b2', 'c1'];
  const wordOf = (to: string) => (to.includes('.') ? `version: ${to}` : `branch: "${to}"`);
  const entry = fc
    .record({
      driver: fc.option(fc.constantFrom('570', '580', '570.133.20', 'none'), { nil: undefined }),
      flavor: fc.boolean(),
      docker: fc.option(fc.constantFrom('28.5.2', '29.7.2'), { nil: undefined }),
      label: fc.boolean(),
      block: fc.boolean(),
      comment: fc.boolean(),
    })
    .map(({ driver, flavor, docker, label, block, comment }) => {
      const drivers =
        driver === 'none'
          ? ['driver: none']
          : driver === undefined
            ? []
            : [`driver: { ${wordOf(driver)}${flavor ? ', flavor: open' : ''} }`];
      const keys = [
        'pool: p',
        ...(label ? ['labels: { room: b12 }'] : []),
        ...drivers,
        ...(docker === undefined ? [] : [`docker: { version: ${docker} }`]),
      ];
      const note = comment ? ' # a note' : '';
      return (indent: string) =>
        block
          ? `${note}\n${keys.map((key) => `${indent}  ${key}${note}\n`).join('')}`
          : ` { ${keys.join(', ')} }${note}\n`;
    });
  const inventories = fc
    .record({
      defaults: entry,
      groups: fc.array(fc.record({ vars: entry, hosts: fc.subarray(names, { minLength: 1 }) }), {
        maxLength: 2,
      }),
      hosts: fc.tuple(...names.map(() => entry)),
    })
    .map(
      ({ defaults, groups, hosts }) =>
        `# the lab\n${head}` +
        `defaults:${defaults('')}` +
        (groups.length === 0 ? '' : 'groups:\n') +
        groups
          .map(
            (group, at) =>
              `  g${at}:\n    vars:${group.vars('    ')}    hosts: [${group.hosts.join(', ')}]\n`,
          )
          .join('') +
        `hosts: # all\n${hosts.map((host, at) => `  ${names[at]}:${host('  ')}`).join('')}# end\n`,
    )
    .map((text) => text.replaceAll('{  }', '{}'));
  const comments = (text: string) => [...new Lexer().lex(text)].filter((token) => token.startsWith('#'));

  test('only the named hosts change, to the version, and every comment stays', () => {
    fc.assert(
      fc.property(
        inventories,
        fc.subarray(names, { minLength: 1 }),
        fc.constantFrom<Target>(
          driver580,
          { part: 'driver', to: '580.95.05' },
          { part: 'docker', to: '29.8.2' },
        ),
        fc.boolean(),
        (text, chosen, target, all) => {
          const hosts = parse(text).hosts.filter(
            ({ name, driver }) =>
              (all || chosen.includes(name)) && (target.part !== 'driver' || driver.install),
          );
          fc.pre(hosts.length > 0);
          const own = new Set(hosts.map(({ name }) => name));
          const edited = editInventory(text, target, meant([...own], all ? ['defaults'] : []), parse);
          if (edited === undefined) {
            // A branch at a host does not override an exact version of the same branch in a layer that others share.
            expect([target.to, hosts.some(({ driver }) => driver.version !== undefined)]).toEqual([
              '580',
              true,
            ]);
            return;
          }
          const after = edited.text;
          expect(stableJson(parse(after))).toBe(stableJson(withTarget(parse(text), target, own)));
          expect(comments(after)).toEqual(comments(text));
          expect(editInventory(after, target, meant([...own]), parse)).toEqual({ text: after, edits: [] });
        },
      ),
      { numRuns: 300 },
    );
  });
});
