// The pages document all exit codes and environment variables of the code.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { ExitCode } from '../../../src/shared/base/errors.ts';
import { commands } from '../../../src/cli/commands.ts';
import { parseArguments } from '../../../src/cli/parse.ts';

const read = (file: string) => readFileSync(file, 'utf8');
const section = (text: string, heading: string) =>
  text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const numbers = (matches: Iterable<RegExpExecArray>) => [...matches].map(([, number]) => Number(number));

describe('all exit codes are documented, and no other', () => {
  const codes = Object.values(ExitCode);

  test('in README.md', () => {
    const line = section(read('README.md'), 'Exit codes').replaceAll('\n', ' ');
    expect(numbers(line.matchAll(/(?:^|· )\s*(\d+) /g))).toEqual(codes);
  });

  test('in docs/provision.md', () => {
    const rows = section(read('docs/provision.md'), 'Exit codes').matchAll(/^\| (\d+) \| \S/gm);
    expect(numbers(rows)).toEqual(codes);
  });

  test('in the help', () => {
    let help = '';
    const out = (text: string) => (help += text);
    parseArguments(['--help'], commands, { out, err: out, env: {}, version: '0', columns: 80 });
    const documented = help.split('Exit codes: ')[1] ?? '';
    expect(numbers(documented.matchAll(/(?:^|·|\n)\s*(\d+) /g))).toEqual(codes);
  });
});

describe('all environment variables are documented, and no other', () => {
  const files = globSync('src/**/*.ts').filter((file) => !file.startsWith('practice/azure/'));
  const source = files.map(read).join('\n');
  const documented = [...section(read('docs/commands.md'), 'Environment').matchAll(/`([A-Z][A-Z_]+)`/g)];

  test('in docs/commands.md', () => {
    const byName = source.matchAll(/\benv\['(\w+)'\]/g);
    const ours = source.matchAll(/\b(AZP_FLEET_[A-Z_]+)\b/g);
    const used = new Set([...byName, ...ours].map(([, name]) => name));
    expect(new Set(documented.map(([, name]) => name))).toEqual(used);
  });

  test('other variables are named by the user in the inventory or ssh_config', () => {
    const computed = [...source.matchAll(/\benv\[([^'\]]+)\]/g)].map(([, by]) => by);
    const ours = ['clockVariable', 'unitMarkVariable'];
    const theirs = ['name', 'variable', 'source.env', 'value.slice(1)'];
    expect(computed.filter((by = '') => !ours.includes(by) && !theirs.includes(by))).toEqual([]);
    for (const constant of ours) expect(source).toMatch(new RegExp(`const ${constant} = 'AZP_FLEET_`));
  });
});
