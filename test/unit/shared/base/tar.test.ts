import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { tar, untar } from '../../../../src/shared/base/tar.ts';

const file = (path: string, content: Uint8Array) => ({ path, content, mode: 0o600, uid: 4000 });

test('unpacking returns the packed files', async () => {
  const path = fc.oneof(
    fc.stringMatching(/^[a-z0-9._-]{1,90}$/),
    fc.stringMatching(/^[a-z]{1,20}\/[a-zäß0-9._-]{1,180}$/),
  );
  const content = fc.uint8Array({ maxLength: 2000 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(path, content), { selector: ([name]) => name }),
      async (files) => {
        const archive = await tar(files.map(([name, data]) => file(name, data)));
        expect(archive.length % 512).toBe(0);
        const found = await untar(archive);
        expect([...found.keys()]).toEqual(files.map(([name]) => name));
        for (const [name, data] of files) expect(found.get(name)).toEqual(Buffer.from(data));
      },
    ),
  );
});

test('equal files make equal archives, at any time and by any user', async () => {
  const files = [file('a', Buffer.from('1')), { path: 'b', content: Buffer.from('2'), mode: 0o755 }];
  expect(await tar(files)).toEqual(await tar(files));
  const listed = execFileSync('tar', ['-tv', '--numeric-owner', '--utc'], {
    input: await tar(files),
    encoding: 'utf8',
  });
  expect(listed.trim().split('\n')).toEqual([
    expect.stringMatching(/^-rw------- 4000\/0 +1 1970-01-01 00:00 a$/),
    expect.stringMatching(/^-rwxr-xr-x 0\/0 +1 1970-01-01 00:00 b$/),
  ]);
});

test('only files are read from an archive of another program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tar-'));
  try {
    const long = `${'x'.repeat(150)}.txt`;
    writeFileSync(join(folder, long), 'deep');
    symlinkSync('/etc/passwd', join(folder, 'link'));
    for (const format of ['gnu', 'pax', 'ustar']) {
      const names = format === 'ustar' ? ['.', 'link'] : ['.', 'link', long];
      const archive = execFileSync('tar', [
        '-c',
        `--format=${format}`,
        '--no-recursion',
        '-C',
        folder,
        ...names,
      ]);
      const files = await untar(archive);
      expect([...files.keys()]).toEqual(names.filter((name) => name === long));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('an incomplete file is an error', async () => {
  const archive = await tar([file('.credentials', Buffer.alloc(2000, 'x'))]);
  await expect(untar(archive.subarray(0, 1024))).rejects.toThrow('Unexpected end of data');
});

test('damage is reported or harmless; reading never hangs, and returns at most what was packed', async () => {
  const whole = await tar([file('a', Buffer.from('1')), file('b', Buffer.alloc(1500, 'b'))]);
  const damage = fc.record({ at: fc.nat(whole.length), put: fc.string({ unit: 'binary', maxLength: 12 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { maxLength: 4 }), fc.nat(whole.length), async (damages, end) => {
      const broken = Buffer.from(whole.subarray(0, end));
      for (const { at, put } of damages) broken.write(put, Math.min(at, end), 'latin1');
      const files = await untar(broken).catch(() => new Map<string, Buffer>());
      const read = [...files.values()].reduce((sum, { length }) => sum + length, 0);
      expect(read).toBeLessThanOrEqual(broken.length);
    }),
  );
});

test.each([
  '-0000003777',
  '77777777777',
  'zzzzzzzzzzz',
  '\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u0001',
])('a size of %j does not keep the reader busy', async (size) => {
  const archive = await tar([file('a', Buffer.alloc(600, 'a')), file('b', Buffer.alloc(600, 'b'))]);
  archive.write(size, 124, 'latin1');
  archive.fill(' ', 148, 156);
  const sum = archive.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const files = await untar(archive).catch(() => new Map<string, Buffer>());
  expect([...files.values()].every(({ length }) => length <= archive.length)).toBe(true);
});
