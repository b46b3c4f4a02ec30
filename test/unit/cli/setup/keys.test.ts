// Every question can be answered without a terminal: by an option or in the file of answers, as docs/setup.md has them.
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

/** Why a key is in no row of its own. */
const elsewhere: Readonly<Record<string, string>> = {
  'agents.count': 'agents: 2 is a number of agents',
  'hosts.known': 'hosts answers it',
  'hosts.filter': 'hosts answers it',
  'pool.listed': 'pool answers it',
  'projects.listed': 'projects answers it',
  'datasets.mounts': 'datasets answers it',
  'hosts.*.address': 'only somebody at a terminal corrects a host',
  key: 'only somebody at a terminal gives a host a key',
  'key.make': 'only somebody at a terminal gives a host a key',
  network: 'any key of network answers it',
  'network.mirrors': 'any mirror answers it',
  '*.kept': 'token.env, token.file … say where it is kept',
  '*.again': 'only somebody at a terminal gives it again',
};

test('each key has its row, or its reason', () => {
  const page = readFileSync(join(root, 'docs/setup.md'), 'utf8');
  const told = [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w.]+)`/g)].map(([, key = '']) => key.replaceAll(/\b[A-Z]+\b/g, '*')),
  );
  expect(keys.length).toBeGreaterThan(20);
  const isTold = (key: string): boolean =>
    told.some(
      (each) =>
        each === key || new RegExp(`^${key.replaceAll('.', '\\.').replaceAll('*', '\\w+')}$`).test(each),
    );
  expect([...new Set(keys)].filter((key) => !isTold(key) && !(key in elsewhere))).toEqual([]);
});
