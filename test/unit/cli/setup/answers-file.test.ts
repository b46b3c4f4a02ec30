import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { blocks } from '../../../support/shown-commands.ts';
import { completed, readAnswers } from '../../../../src/cli/setup/answers-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'answers-'));
afterAll(() => rmSync(folder, { recursive: true }));

function read(text: string) {
  const file = join(folder, 'answers.yaml');
  writeFileSync(file, text);
  return Object.fromEntries(completed(readAnswers(file)));
}

test('the file that the page shows', () => {
  const [shown = ''] = blocks(join(import.meta.dirname, '../../../../docs/setup.md'), 'yaml');
  expect(read(shown)).toEqual({
    hosts: ['gpu-1', 'admin@192.0.2.7:2222', 'box=gpu.lab.example'],
    unready: 'drop',
    organization: 'example',
    'token.file': '~/.config/azp-fleet/token',
    'token.kept': 'file',
    'token.expires': '2027-05-31',
    projects: ['vision'],
    pool: 'gpu-lab',
    agents: 'one-per-gpu',
    datasets: ['/data/imagenet'],
  });
});

test('a number of agents, a service principal, and empty answers', () => {
  expect(read('agents: 2\nprincipal: { clientId: a, env: S }\nshare: true\nnetwork: { ca: }\n')).toEqual({
    agents: 'number',
    'agents.count': '2',
    'principal.clientId': 'a',
    'principal.env': 'S',
    'principal.kept': 'env',
    'token.kept': 'service-principal',
    share: true,
    'network.ca': '',
  });
});

test.each([
  ['[', 'invalid answers file'],
  ['- a', 'no keys'],
  ['token: abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst', 'token looks like a secret'],
])('%j is refused', (text, message) => {
  const refused = expect.objectContaining({ code: 'usage.answer' });
  expect(() => read(text)).toThrow(expect.objectContaining({ problem: refused, exitCode: 2 }));
  try {
    read(text);
  } catch (error) {
    expect(JSON.stringify(error)).toContain(message);
  }
});
