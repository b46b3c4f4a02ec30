// What a start reads: counts, not times, so that it cannot grow unseen.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { requireCurrentBuild } from '../support/current-build.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'azp-start-up-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(
  join(folder, 'inventory.yaml'),
  `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu }
hosts: { h200-1: {}, h200-2: {}, h200-3: {} }
`,
);

const { counts } = JSON.parse(readFileSync(join(root, 'bench/floor.json'), 'utf8')) as {
  counts: Readonly<Record<string, number>>;
};

/** Runs in the program before it starts; at the end it writes down the files that were loaded and Node's own modules. */
const recorder = `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const files = new Set();
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) files.add(url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(process.env.RECORD, JSON.stringify({ files: [...files], builtins: process.moduleLoadList })));
`;

function loadedBy(...argv: readonly string[]) {
  requireCurrentBuild(root);
  const record = join(folder, 'record.json');
  const preload = `data:text/javascript,${encodeURIComponent(recorder)}`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', preload, join(root, 'bin/azp-fleet.js'), ...argv],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], XDG_STATE_HOME: folder, RECORD: record },
    },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(readFileSync(record, 'utf8')) as {
    files: readonly string[];
    builtins: readonly string[];
  };
}

test.each([['--help'], ['inventory list']])('%s reads no more than bench/floor.json allows', (command) => {
  const { files, builtins } = loadedBy(...command.split(' '));
  const bytes = files.reduce((sum, file) => sum + readFileSync(new URL(file)).length, 0);
  const read = { modules: files.length, bytes };
  for (const [what, seen] of Object.entries(read)) {
    const row = `${command}: ${what}`;
    const limit = counts[row] ?? Number.NaN;
    expect(
      seen,
      `${row}: ${seen}, more than the ${limit} of bench/floor.json. Find the import that was added (\`import()\` what few runs need); ` +
        `raise the limit only in a commit that says why. Loaded:\n${files.join('\n')}\n`,
    ).toBeLessThanOrEqual(limit);
    // A limit far above what is read would let the start grow back.
    expect(limit, `${row}: lower the limit of bench/floor.json to what is read now`).toBeLessThanOrEqual(
      seen * 1.1,
    );
  }
  const slow = /undici|worker_threads|internal\/crypto\/webcrypto|NativeModule (?:child_process|crypto|v8)$/;
  expect(builtins.filter((name) => slow.test(name))).toEqual([]);
});

test('a deprecated call of a bundled library prints nothing', () => {
  const warn =
    "process.once('beforeExit', () => process.emitWarning('old', 'DeprecationWarning', 'DEP0169'));";
  const preload = `data:text/javascript,${encodeURIComponent(warn)}`;
  const run = (...argv: readonly string[]) => {
    const env = { PATH: process.env['PATH'], XDG_STATE_HOME: folder };
    return spawnSync(process.execPath, ['--import', preload, ...argv], {
      cwd: folder,
      encoding: 'utf8',
      env,
    });
  };
  expect(run('-e', '0').stderr).toContain('DeprecationWarning: old');
  const { status, stderr } = run(join(root, 'bin/azp-fleet.js'), 'inventory', 'list');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
