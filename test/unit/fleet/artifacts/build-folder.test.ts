import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { loadBuildFolder } from '../../../../src/fleet/artifacts/build-folder.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'folder-'));
  folder = join(root, 'Vision Tools');
  mkdirSync(join(folder, 'pip/deep'), { recursive: true });
  write('Dockerfile', 'ARG BASE\nFROM ${BASE}\nCOPY pip /pip\n');
  write('pip/requirements.txt', 'numpy\n');
  write('pip/deep/run.sh', '#!/bin/sh\n', 0o755);
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string, mode = 0o644): void {
  writeFileSync(join(folder, path), text);
  spawnSync('chmod', [mode.toString(8), join(folder, path)]);
}

const load = () => loadBuildFolder(folder, join(root, 'cache'), Date.now());

/** Returns tar's list: mode, owner and name. */
async function listed(): Promise<string[]> {
  const { stdout } = spawnSync('tar', ['-tvf', (await load()).artifact.file, '--numeric-owner'], {
    encoding: 'utf8',
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').replace(/ \d+ \S+ \S+ /, ' '));
}

describe("a team's folder", () => {
  test('becomes an archive of its files, with their modes and nothing of this machine', async () => {
    expect(await listed()).toEqual([
      'drwxr-xr-x 0/0 pip/',
      'drwxr-xr-x 0/0 pip/deep/',
      '-rw-r--r-- 0/0 Dockerfile',
      '-rwxr-xr-x 0/0 pip/deep/run.sh',
      '-rw-r--r-- 0/0 pip/requirements.txt',
    ]);
    const { name, files, artifact } = await load();
    expect([name, files]).toEqual(['vision-tools', 3]);
    expect(artifact.sha256).toBe(sha256(readFileSync(artifact.file)));
  });

  test('has the same digest wherever and whenever it is read, and another one when a file changes', async () => {
    const before = (await load()).artifact.sha256;
    utimesSync(join(folder, 'Dockerfile'), 1, 1);
    write('pip/requirements.txt', 'numpy\n', 0o664);
    expect((await load()).artifact.sha256).toBe(before);
    write('pip/requirements.txt', 'numpy\n', 0o755);
    const executable = (await load()).artifact.sha256;
    write('pip/requirements.txt', 'torch\n', 0o755);
    expect(new Set([before, executable, (await load()).artifact.sha256]).size).toBe(3);
  });

  test('.dockerignore leaves out files, but not the Dockerfile', async () => {
    write('.dockerignore', '**/*.sh\nDockerfile\nlink\n');
    symlinkSync('/etc', join(folder, 'link'));
    expect((await listed()).map((line) => line.split(' ').at(-1))).toEqual([
      'pip/',
      '.dockerignore',
      'Dockerfile',
      'pip/requirements.txt',
    ]);
  });

  test.each([
    [
      'a link',
      () => symlinkSync('/etc/passwd', join(folder, 'pip/p')),
      '"pip/p" in .* is a link'.replaceAll('"', ''),
    ],
    ['a pipe', () => spawnSync('mkfifo', [join(folder, 'p')]), 'is not an ordinary file'],
    ['too much', () => (write('big', ''), truncateSync(join(folder, 'big'), 65 * 1024 ** 2)), 'is too large'],
    ['no Dockerfile', () => rmSync(join(folder, 'Dockerfile')), 'it has no Dockerfile'],
    ['an unrelated Dockerfile', () => write('Dockerfile', 'FROM ubuntu\n'), 'it does not take the image'],
    ['an invalid pattern', () => write('.dockerignore', '[z-a]\n'), 'has an invalid pattern'],
    ['a missing folder', () => rmSync(folder, { recursive: true }), 'cannot be read'],
  ])('with %s is refused with the reason', async (_, make, what) => {
    make();
    await expect(load()).rejects.toMatchObject({
      exitCode: 2,
      problem: {
        what: expect.stringMatching(what) as string,
        next: expect.stringMatching(/^[a-z]/) as string,
      },
    });
  });
});
