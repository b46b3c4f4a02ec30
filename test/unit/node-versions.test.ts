import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
const lowest = engines.node.replace('>=', '');

/** Each version of Node that a file names as the lowest. */
test.each([
  ['bin/azp-fleet.js', /azp-fleet needs Node (\d+\.\d+)/],
  ['scripts/build.mjs', /target: 'node(\d+\.\d+)'/],
  ['scripts/dev.mjs', /testedNodes = \['(\d+\.\d+)\.\d+'/],
  ['README.md', /You need: Node (\d+\.\d+) or newer/],
  ['docs/install.md', /npm test`: the package on Node (\d+\.\d+),/],
  ['CONTRIBUTING.md', /supports Node (\d+\.\d+)/],
  ['docs/manager.md', /Node (\d+\.\d+) or newer/],
])('%s names the lowest Node that the package takes', (path, pattern) => {
  expect(pattern.exec(read(path))?.[1]).toBe(lowest);
});

test('bin/azp-fleet.js refuses what is older than that', () => {
  const [, major, minor] =
    /major > (\d+) \|\| \(major === \1 && minor >= (\d+)\)/.exec(read('bin/azp-fleet.js')) ?? [];
  expect(`${major}.${minor}`).toBe(lowest);
});

test('bin/azp-fleet.js says where it runs to those who are on Windows itself', () => {
  const onWindows = "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})";
  const args = ['--import', onWindows, join(root, 'bin/azp-fleet.js'), '--version'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^azp-fleet does not run on Windows itself\.\nnext: .* WSL 2 /);
});
