import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { cacheFolder, stateFolder } from '../../../src/cli/own-folders.ts';
import { quietContext } from '../../support/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-own-folders-'));
afterAll(() => rmSync(folder, { recursive: true }));
const home = join(folder, 'home');
mkdirSync(home);

/** Gives a folder to another user; only root can. For others it becomes writable by all, which is refused, too. */
function giveAway(path: string): void {
  if (process.geteuid?.() === 0) chownSync(path, 65_534, 65_534);
  else chmodSync(path, 0o777);
}

test.each([
  ['unset', undefined],
  ['empty', ''],
  ['relative', 'caches'],
])('a variable that is %s leaves the folder below the home folder', (_, value) => {
  const env = { XDG_STATE_HOME: value, XDG_CACHE_HOME: value };
  expect(stateFolder(env, home)).toEqual({ path: join(home, '.local/state/azp-fleet') });
  expect(cacheFolder({ ...quietContext({ cwd: home }).context, env, home })).toBe(
    join(home, '.cache/azp-fleet'),
  );
});

describe('a folder', () => {
  let count = 0;
  /** Returns the state folder after `prepare`, which gets the path of a private one. */
  function after(prepare: (path: string) => void) {
    const path = join(folder, `base${(count += 1)}`, 'azp-fleet');
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chmodSync(dirname(path), 0o755);
    prepare(path);
    return stateFolder({ XDG_STATE_HOME: dirname(path) }, home);
  }
  const linked = (path: string, mode: number) => {
    rmSync(path, { recursive: true });
    mkdirSync(`${path}-target`);
    chmodSync(`${path}-target`, mode);
    symlinkSync(`${path}-target`, path);
  };

  test.each<[string, (path: string) => void]>([
    ['is private', () => undefined],
    ['can be read by others', (path) => chmodSync(path, 0o755)],
    ['is missing', (path) => rmSync(path, { recursive: true })],
    ['and the one above it are missing', (path) => rmSync(dirname(path), { recursive: true })],
    ["is in a folder of the user's group", (path) => chmodSync(dirname(path), 0o775)],
    ['is in a sticky folder', (path) => chmodSync(dirname(path), 0o1777)],
    ['is a link to a private one', (path) => linked(path, 0o700)],
  ])('is used if it %s', (_, prepare) => {
    expect(after(prepare)).not.toHaveProperty('refused');
  });

  test.each<[string, (path: string) => void]>([
    ['belongs to another user', giveAway],
    ['is in a folder of another user', (path) => giveAway(dirname(path))],
    [
      'would be created in a folder of another user',
      (path) => {
        rmSync(path, { recursive: true });
        giveAway(dirname(path));
      },
    ],
    ["can be written by the user's group", (path) => chmodSync(path, 0o770)],
    ['can be written by all', (path) => chmodSync(path, 0o777)],
    ['can be replaced by all', (path) => chmodSync(dirname(path), 0o777)],
    ['is a link to one that all can write', (path) => linked(path, 0o777)],
  ])('is refused if it %s', (_, prepare) => {
    const { path, refused } = after(prepare);
    expect(refused?.what).toMatch(`${path} is not used: `);
    expect(refused?.next).toMatch(/^(set XDG_STATE_HOME to |check its files, then: chmod go-w )/);
  });
});

test('instead of a refused cache an empty folder of this run is used, and that is said', () => {
  const base = join(folder, 'shared');
  mkdirSync(base);
  chmodSync(base, 0o777);
  const { context, written } = quietContext({ cwd: home, env: { XDG_CACHE_HOME: base } });
  const used = cacheFolder(context);
  expect(used.startsWith(join(tmpdir(), 'azp-fleet-'))).toBe(true);
  // A long temporary folder breaks the lines, that of the command with a backslash.
  const words = (text: string) => text.replaceAll(/\\\n|\s/g, '');
  expect(words(written.stderr)).toBe(
    words(
      `! ${base}/azp-fleet is not used: other users may write to ${base} (mode 0777) next check its files, then: chmod go-w ${base}`,
    ),
  );
  rmSync(used, { recursive: true });
});
