// What npm packs: all that an installed azp-fleet reads, and nothing that only a checkout needs.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { schemaFile, schemaNames } from '../../scripts/output-schemas.ts';
import { packInto } from './packed.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-contents-'));
afterAll(() => rmSync(folder, { recursive: true }));
const archive = await packInto(folder);
execFileSync('tar', ['-xzf', archive, '-C', folder]);
const root = join(folder, 'package');
const files = globSync('**', { cwd: root, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
  .toSorted();
const text = (file: string) => readFileSync(join(root, file), 'utf8');
const from = (start: string) => files.filter((file) => file.startsWith(start));

/** What a file of dist imports, with and without `from`, now or later. */
function importsOf(file: string): readonly string[] {
  const pattern =
    /(?:^|[;\n}])\s*(?:import|export)\b[^'"()]*?["']([@a-z.][\w@./:-]*)["']|\bimport\(["']([^'"\n]+)["']\)/g;
  return [...text(file).matchAll(pattern)].map(([, now, later]) => now ?? later ?? '');
}

/** The parts of the command that a run can come to, from the first one on. */
function reached(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const part of importsOf(file).filter((name) => name.startsWith('.')))
    reached(normalize(join(dirname(file), part)), seen);
  return seen;
}

const parts = [...reached('dist/cli.mjs')];

test('beside the pages it holds the program, what goes to hosts, and what describes the inventory', () => {
  expect(files.filter((file) => !file.startsWith('docs/') && !parts.includes(file))).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'bin/azp-fleet.js',
    'dist/licenses.txt',
    'dist/manager.mjs',
    'dockeragent/Dockerfile',
    'dockeragent/README.md',
    'dockeragent/install.sh',
    'dockeragent/start.sh',
    'examples/azure-pipelines/plan.yml',
    'examples/terraform/README.md',
    ...['aws', 'azure', 'gcp'].flatMap((cloud) =>
      ['deregister', 'main', 'outputs', 'variables'].map((part) => `examples/terraform/${cloud}/${part}.tf`),
    ),
    'examples/terraform/hosts.example.json',
    'examples/terraform/inventory.yaml',
    'inventory.example.yaml',
    'inventory.schema.json',
    'man/azp-fleet.1',
    'package.json',
    ...schemaNames.map((name) => `schemas/${schemaFile(name)}`).toSorted(),
    'units/azp-fleet-harmless.service',
    'units/azp-fleet-harmless.timer',
    'units/azp-fleet-manager.service',
  ]);
});

test('of the program every part is there, and none that nothing comes to', () => {
  expect(parts.filter((part) => !files.includes(part))).toEqual([]);
  expect(from('dist/').filter((part) => !parts.includes(part))).toEqual([
    'dist/licenses.txt',
    'dist/manager.mjs',
  ]);
});

test('what the command imports is in the package, or in Node; libraries do without their optional parts', () => {
  const imported = parts.flatMap(importsOf).filter((name) => !name.startsWith('.'));
  const required = parts.flatMap((part) =>
    [...text(part).matchAll(/\b__require\("([^"]+)"\)/g)].map(([, name = '']) => name),
  );
  expect(new Set([...imported, ...required].filter((name) => !isBuiltin(name)))).toEqual(
    new Set(['./crypto/build/Release/sshcrypto.node', 'cpu-features', 'supports-color']),
  );
  const { dependencies } = JSON.parse(text('package.json')) as { dependencies?: object };
  expect(dependencies).toBeUndefined();
});

test('the licenses of the libraries are in it', () => {
  const licenses = text('dist/licenses.txt');
  for (const library of ['commander', 'ssh2', 'dockerode', 'prom-client', 'zod'])
    expect(licenses).toMatch(
      new RegExp(String.raw`^${library} \d[^]*?^(?:Copyright|MIT|Apache|Permission)`, 'm'),
    );
});

test('the pages that it points at are in it, but for those on working on it', () => {
  const ofTheCheckout =
    /^(?:(?:ARCHITECTURE|CONTRIBUTING|RELEASING)\.md|docs\/contributing-.*|(?:bench|src|test)\/.*)$/;
  const pages = files.filter((file) => file.endsWith('.md'));
  const links = pages.flatMap((page) =>
    [...text(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to = '']) => join(dirname(page), to)),
  );
  const missing = links.filter((link) => !statSync(join(root, link), { throwIfNoEntry: false }));
  expect(missing.filter((link) => !ofTheCheckout.test(link))).toEqual([]);
});

test('what is run can be run, and what is read by everybody has no path of the machine it was made on', () => {
  for (const program of ['bin/azp-fleet.js', 'dockeragent/install.sh', 'dockeragent/start.sh'])
    expect(statSync(join(root, program)).mode & 0o777, program).toBe(0o755);
  const home = join(import.meta.dirname, '../..');
  expect(files.filter((file) => text(file).includes(home))).toEqual([]);
});

test('it stays small', () => {
  expect(statSync(archive).size).toBeLessThan(1_600_000);
});

test('docs/costs.md has the sizes of the package and of the manager', () => {
  const MiB = 1024 ** 2;
  const documented = (row: string) =>
    Number(new RegExp(String.raw`^\| ${row} \| ([\d.]+) MiB`, 'm').exec(text('docs/costs.md'))?.[1]);
  const unpacked = files.reduce((sum, file) => sum + statSync(join(root, file)).size, 0);
  const sizes = {
    'the package, as a file': statSync(archive).size,
    'the package, unpacked': unpacked,
    'a new manager, to each host': statSync(join(root, 'dist/manager.mjs')).size,
  };
  for (const [row, bytes] of Object.entries(sizes))
    expect(Math.abs(documented(row) - bytes / MiB), row).toBeLessThan(0.1 + 0.1 * (bytes / MiB));
});
