// Every question can be answered without a terminal, by an option or in the answers file, as docs/setup.md documents.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../../..');
const asked = /\b(?:prompts|interview)\s*\.(?:text|choose|confirm|chooseMany)(?:<[^>]+>)?\(\s*(['`])(.+?)\1/g;

/** Keys of questions, `${…}` of a template as `*`. */
const keys = globSync('src/cli/{setup,commands}/**/*.ts', { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(asked)].map(([, , key = '']) =>
    key.replaceAll(/\$\{[^}]+\}/g, '*'),
  ),
);

/** Reasons why a key has no row. */
const elsewhere: Readonly<Record<string, string>> = {
  'agents.count': 'agents: 2 is a number of agents',
  'hosts.known': 'hosts answers it',
  'hosts.filter': 'hosts answers it',
  'pool.listed': 'pool answers it',
  'projects.listed': 'projects answers it',
  'datasets.mounts': 'datasets answers it',
  'hosts.*.address': 'asked only on a terminal',
  key: 'asked only on a terminal',
  'key.make': 'asked only on a terminal',
  network: 'any key of network answers it',
  'network.mirrors': 'any mirror answers it',
  '*.kept': 'token.env, token.file … say where it is kept',
  '*.again': 'asked only on a terminal',
};

test('each key has a row or a reason', () => {
  const page = readFileSync(join(root, 'docs/setup.md'), 'utf8');
  const documented = [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w.]+)`/g)].map(([, key = '']) => key.replaceAll(/\b[A-Z]+\b/g, '*')),
  );
  expect(keys.length).toBeGreaterThan(20);
  const isDocumented = (key: string): boolean =>
    documented.some(
      (each) =>
        each === key || new RegExp(`^${key.replaceAll('.', '\\.').replaceAll('*', '\\w+')}$`).test(each),
    );
  expect([...new Set(keys)].filter((key) => !isDocumented(key) && !(key in elsewhere))).toEqual([]);
});
