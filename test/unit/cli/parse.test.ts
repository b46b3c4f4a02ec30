import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { FleetError } from '../../../src/shared/base/errors.ts';
import type { CommandSpec } from '../../../src/cli/command.ts';
import { commands } from '../../../src/cli/commands.ts';
import { parseArguments } from '../../../src/cli/parse.ts';

type JsonCommand = Extract<CommandSpec, { readonly json: readonly string[] }>;
const spec = (name: string, more: Partial<Omit<JsonCommand, 'json' | 'load'>> = {}): JsonCommand => ({
  name,
  summary: `what ${name} does`,
  positionals: '[targets...]',
  examples: [[`azp-fleet ${name}`, 'an example']],
  json: ['hosts'],
  load: () => Promise.reject(new Error('not loaded in this test')),
  ...more,
});
const specs = [
  spec('provision', { options: [{ flags: '--parallel <n>', description: 'hosts at once', default: '20' }] }),
  spec('inventory show', { positionals: '[host]' }),
  spec('init', { inventory: false }),
  spec('start', { inventory: false, sshConfig: true }),
  { ...spec('ssh'), json: false, load: () => Promise.reject(new Error('not loaded in this test')) } as const,
];

function parse(line: string, env: Record<string, string> = {}) {
  let printed = '';
  const out = (text: string) => {
    printed += text;
  };
  const io = { out, err: out, env, version: '1.2.3', columns: 80 };
  return { parsed: parseArguments(line.split(' ').filter(Boolean), specs, io), printed };
}

describe('the inventory of a command line', () => {
  test.each([
    ['provision', {}, 'inventory.yaml', []],
    ['provision lab.yaml', {}, 'lab.yaml', []],
    ['provision lab.yml h1 h2', {}, 'lab.yml', ['h1', 'h2']],
    ['provision -i my.inventory h1', {}, 'my.inventory', ['h1']],
    ['provision h1', { AZP_FLEET_INVENTORY: '/etc/fleet.yaml' }, '/etc/fleet.yaml', ['h1']],
    ['inventory show h1 lab.yaml', {}, 'lab.yaml', ['h1']],
    ['init new.yaml', {}, 'inventory.yaml', ['new.yaml']],
  ])('%s', (line, env, inventory, positionals) => {
    const { parsed } = parse(line, env);
    expect(parsed?.input.inventory).toBe(inventory);
    expect(parsed?.input.positionals).toEqual(positionals);
  });
});

test('--limit repeats, and words after -- are unchanged', () => {
  const { parsed } = parse('provision --limit a --limit b,c lab.yaml -- rm -rf x.yaml');
  expect(parsed?.input.options.list('limit')).toEqual(['a', 'b,c']);
  expect(parsed?.input.rest).toEqual(['rm', '-rf', 'x.yaml']);
});

describe('shared options may be before, between and after the words of a command', () => {
  test.each([
    ['--json -i lab.yaml inventory show h1', { json: true }, 'lab.yaml', ['h1']],
    ['inventory --json show -i lab.yaml h1', { json: true }, 'lab.yaml', ['h1']],
    ['inventory show h1 --yes --debug -i lab.yaml', { yes: true, debug: true }, 'lab.yaml', ['h1']],
    ['--inventory=lab.yaml provision', {}, 'lab.yaml', []],
    ['-ilab.yaml provision h1', {}, 'lab.yaml', ['h1']],
    ['-i one.yaml provision -i two.yaml', {}, 'two.yaml', []],
    ['--limit a provision --limit b h1', { limit: ['a', 'b'] }, 'inventory.yaml', ['h1']],
    ['--no-color init h1', { color: false }, 'inventory.yaml', ['h1']],
  ])('%s', (line, expected, inventory, positionals) => {
    const input = parse(line).parsed?.input;
    const given = { json: true, yes: true, debug: true };
    const flags = Object.keys(given).filter((name) => input?.options.flag(name));
    expect(flags).toEqual(Object.keys(given).filter((name) => name in expected));
    expect(input?.options.list('limit')).toEqual('limit' in expected ? expected.limit : []);
    expect(input?.options.flag('color')).toBe(!('color' in expected));
    expect(input).toMatchObject({ inventory, positionals });
  });

  const words = fc.constantFrom(['provision'], ['inventory', 'show']);
  const shared = fc.constantFrom(['--json'], ['--yes'], ['--debug'], ['-i', 'lab'], ['--limit', 'h1']);
  test('the position does not matter', () => {
    fc.assert(
      fc.property(words, fc.array(fc.tuple(shared, fc.nat(2)), { maxLength: 6 }), (command, options) => {
        const at = (place: number) =>
          options
            .filter(([, expected]) => Math.min(expected, command.length) === place)
            .flatMap(([text]) => text);
        const mixed = [...at(0), ...command.flatMap((word, index) => [word, ...at(index + 1)])];
        const behind = [...command, ...[0, 1, 2].flatMap(at)];
        const parsed = [mixed, behind].map((line) => parse(line.join(' ')).parsed?.input);
        expect({ ...parsed[0], commandLine: '' }).toEqual({ ...parsed[1], commandLine: '' });
      }),
    );
  });

  test('words after -- are not options', () => {
    const input = parse('--json provision -- --yes -i x').parsed?.input;
    expect(input?.options.flag('yes')).toBe(false);
    expect(input?.rest).toEqual(['--yes', '-i', 'x']);
  });

  test.each([
    ['-i lab.yaml start h1', 'start does not take --inventory'],
    ['init h1 --limit a', 'init does not take --limit'],
    ['--json ssh h1', 'ssh does not take --json'],
    ['--parallel 3 provision', "unknown option '--parallel'"],
  ])('%s is refused', (line, what) => {
    expect(() => parse(line)).toThrow(what);
  });
});

test.each([
  ['-i lab.yaml provision --watch', 'provision'],
  ['--json provision --watch', 'provision'],
  ['--limit inventory provision --watch', 'provision'],
  ['provision --ssh-config', 'provision'],
  ['start h1 --limit a', 'start'],
  ['inventory show --parallel 3', 'inventory show'],
  ['inventory --yes show a b c', 'inventory show'],
])('%s points to the help of %s', (line, name) => {
  expect(() => parse(line)).toThrow(
    expect.objectContaining({
      problem: expect.objectContaining({ next: expect.stringMatching(`see azp-fleet ${name} --help$`) }),
    }),
  );
});

test.each(['-i lab.yaml init h1', 'init -i lab.yaml h1', '--inventory=lab.yaml init h1'])(
  '%s: a command without an inventory ignores it',
  (line) => {
    expect(parse(line).parsed?.input.positionals).toEqual(['h1']);
  },
);

test('a command that writes an inventory names its option for the file', () => {
  expect(() => parse('start -i lab.yaml h1')).toThrow(
    expect.objectContaining({ problem: expect.objectContaining({ next: 'name the file with -o FILE' }) }),
  );
});

test.each([
  ['provision --paralel 3', /unknown option '--paralel'/],
  ['provision a.yaml b.yaml', /two inventories/],
  ['inventory show a b c', /too many arguments/],
])('%s is a usage error that helps', (line, message) => {
  expect(() => parse(line)).toThrow(message);
  try {
    parse(line);
  } catch (error) {
    expect((error as FleetError).exitCode).toBe(2);
  }
});

describe('options', () => {
  const options = parse('provision --parallel many').parsed?.input.options;
  test('a number out of bounds is refused with the bounds', () => {
    expect(() => options?.integer('parallel', { min: 1, max: 100 })).toThrow(FleetError);
  });
  test.each([
    ['90', 90_000],
    ['15m', 900_000],
    ['4h', 14_400_000],
  ])('the duration %s', (text, milliseconds) => {
    expect(parse(`provision --parallel ${text}`).parsed?.input.options.duration('parallel')).toBe(
      milliseconds,
    );
  });
});

describe('help', () => {
  test('fits 80 columns and names the first steps and the exit codes', () => {
    const { parsed, printed } = parse('--help');
    expect(parsed).toBeUndefined();
    expect(printed).toContain('azp-fleet setup');
    expect(printed).toContain('Exit codes');
    for (const option of ['--inventory', '--limit', '--json', '--yes', '--debug', '--no-color'])
      expect(printed).toContain(option);
    expect(printed).toContain('before or after the command');
    for (const line of printed.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  test.each(commands.map((command) => [command.name, command] as const))(
    '%s has examples and fits 80 columns',
    (name, command) => {
      let printed = '';
      const io = {
        out: (text: string) => void (printed += text),
        err: () => undefined,
        env: {},
        version: '0',
        columns: 80,
      };
      parseArguments([...name.split(' '), '--help'], commands, io);
      expect(printed).toContain('Examples:');
      expect(command.examples.length).toBeGreaterThan(0);
      for (const line of printed.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    },
  );
});
