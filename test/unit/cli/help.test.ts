import { describe, expect, test } from 'vitest';

import { FleetError } from '../../../src/shared/base/errors.ts';
import { groupOf, groupTitles } from '../../../src/cli/command.ts';
import { commands } from '../../../src/cli/commands.ts';
import { parseArguments } from '../../../src/cli/parse.ts';

/** Returns the printed help, or the problem. */
function parse(line: string) {
  let printed = '';
  const io = {
    out: (text: string) => void (printed += text),
    err: () => undefined,
    env: {},
    version: '0',
    columns: 80,
  };
  try {
    const parsed = parseArguments(line.split(' ').filter(Boolean), commands, io);
    expect(parsed).toBeUndefined();
    return { printed };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    expect(error.exitCode).toBe(2);
    return { printed, what: error.problem.what, next: error.problem.next };
  }
}

describe('help', () => {
  const usage = (line: string) => /^Usage: (.*)$/m.exec(parse(line).printed)?.[1];
  test.each([
    ['', 'azp-fleet [options] [command]'],
    ['--yes', 'azp-fleet [options] [command]'],
    ['help', 'azp-fleet [options] [command]'],
    ['pool', 'azp-fleet pool [options] [command]'],
    ['image', 'azp-fleet image [options] [command]'],
    ['inventory', 'azp-fleet inventory [options] [command]'],
    ['help pool', 'azp-fleet pool [options] [command]'],
    ['pool help', 'azp-fleet pool [options] [command]'],
    ['help status', 'azp-fleet status [options] [targets...]'],
    ['help pool list', 'azp-fleet pool list [options] [pools...]'],
    ['pool help list', 'azp-fleet pool list [options] [pools...]'],
    ['help help', 'azp-fleet help [options] [command...]'],
  ])('"%s" shows the help of: %s', (line, expected) => {
    expect(usage(line)).toBe(expected);
  });

  test('of a command that needs a host does not claim that it takes all', () => {
    expect(parse('remove --help').printed).not.toContain('without any');
    expect(parse('status --help').printed).toContain('without any');
  });

  test.each(commands.map(({ name }) => name))('help %s is what %s --help prints', (name) => {
    expect(parse(`help ${name}`).printed).toBe(parse(`${name} --help`).printed);
  });

  test('of a command begins with a sentence, and has its examples in one column', () => {
    const { printed } = parse('help provision');
    expect(printed).toContain('\n\nMake the hosts match the inventory, and verify the result.\nPlans, asks');
    expect(printed).toContain(`Examples:
  azp-fleet provision inventory.yaml          plan, ask, apply, verify
  azp-fleet provision --yes --limit room=b12  without asking, one room
  azp-fleet provision h200-1 --adopt
      a reinstalled machine keeps its agent names
`);
  });

  test('lists each command once, in groups', () => {
    const [, list = ''] = /^(Start:\n[^]+?)\n\n(?:Global|$)/m.exec(parse('').printed) ?? [];
    const groups = list.split('\n\n').map((text) => {
      const [title, ...lines] = text.split('\n');
      return [title, lines.flatMap((line) => /^ {2}([\w-]+)/.exec(line)?.[1] ?? [])];
    });
    const declared = groupTitles.map((title) => {
      const specs = commands.filter((spec) => groupOf(spec) === title);
      const words = new Set(specs.map(({ name }) => name.split(' ')[0]));
      return [`${title}:`, title === 'Advanced' ? [...words, 'help'] : [...words]];
    });
    expect(groups).toEqual(declared);
  });

  test('lists the commands of a group', () => {
    expect(parse('').printed).toMatch(/^ {2}pool +pool list, create, authorize, prune$/m);
  });
});

describe('an unknown command', () => {
  test.each([
    ['statsu', 'there is no command "statsu"', 'did you mean "azp-fleet status"?'],
    ['statsu --drift', 'there is no command "statsu"', 'did you mean "azp-fleet status"?'],
    ['help statsu', 'there is no command "statsu"', 'did you mean "azp-fleet status"?'],
    ['pool lsit', 'there is no command "pool lsit"', 'did you mean "azp-fleet pool list"?'],
    ['help pool lsit', 'there is no command "pool lsit"', 'did you mean "azp-fleet pool list"?'],
    ['pool help lsit', 'there is no command "pool lsit"', 'did you mean "azp-fleet pool list"?'],
    ['authorize', 'there is no command "authorize"', 'did you mean "azp-fleet pool authorize"?'],
    [
      'list',
      'there is no command "list"',
      'did you mean "azp-fleet inventory list", "azp-fleet image list" or "azp-fleet pool list"?',
    ],
    ['zebra', 'there is no command "zebra"', 'see the commands: azp-fleet --help'],
    ['pool zebra', 'there is no command "pool zebra"', 'see the commands: azp-fleet pool --help'],
    ['help status now', 'there is no command "status now"', 'see azp-fleet status --help'],
  ])('%s', (line, what, next) => {
    expect(parse(line)).toEqual({ printed: '', what, next });
  });

  test('is not printed with --json', () => {
    expect(parse('--json')).toMatchObject({ printed: '', what: 'the command is missing' });
    expect(parse('pool --json')).toMatchObject({ printed: '', what: 'the command is missing' });
  });
});

describe('an inventory named twice', () => {
  test.each(['plan -i a.yaml b.yaml', '-i a.yaml plan b.yaml', 'plan a.yaml b.yaml'])('%s', (line) => {
    expect(parse(line)).toMatchObject({ what: 'two inventories were given', next: 'name one inventory' });
  });
});

describe('examples in help are understood', () => {
  const words = (line: string) =>
    [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, one, two, bare]) => one ?? two ?? bare ?? '');
  const all = commands.flatMap(({ name, examples }) => examples.map(([line]) => [line, name] as const));
  test.each(all)('%s', (line, name) => {
    const [, own = ''] = /azp-fleet ((?:'[^']*'|"[^"]*"|[^)|>&])+)/.exec(line) ?? [];
    const io = { out: () => undefined, err: () => undefined, env: {}, version: '0', columns: 80 };
    expect(parseArguments(words(own), commands, io)?.spec.name).toBe(name);
  });
});
