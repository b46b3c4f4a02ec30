import { Readable } from 'node:stream';
import fc from 'fast-check';
import { pack } from 'tar-stream';
import { expect, test } from 'vitest';
import { archiveTails, type TailLimits } from '../../../../src/shared/engine/tails.ts';

const limits: TailLimits = { files: 2, fileBytes: 4, streamBytes: 1024 * 1024 };
const isLog = (name: string): boolean => name.endsWith('.log');

interface Entry {
  readonly name: string;
  readonly content?: string;
  readonly type?: 'file' | 'symlink' | 'directory';
}

async function archive(entries: readonly Entry[]): Promise<Buffer> {
  const made = pack();
  for (const { name, content = '', type = 'file' } of entries) {
    if (type === 'file') made.entry({ name, type }, content);
    else made.entry({ name, type, ...(type === 'symlink' ? { linkname: '/etc/shadow' } : {}) });
  }
  made.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of made) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function tails(data: Buffer, changes: Partial<TailLimits> = {}, size = 100) {
  const chunks = Array.from({ length: Math.ceil(data.length / size) }, (_, at) =>
    data.subarray(at * size, (at + 1) * size),
  );
  const found = await archiveTails(Readable.from(chunks), isLog, { ...limits, ...changes });
  return found.map(({ name, bytes, end }) => [name, bytes, end.toString()]);
}

test('the end of each accepted file is read, within the limits', async () => {
  const data = await archive([
    { name: 'diag/', type: 'directory' },
    { name: 'diag/a.log', content: 'first and last' },
    { name: 'diag/other.txt', content: 'x' },
    { name: 'diag/b.log', content: 'b' },
    { name: 'diag/c.log', content: 'c' },
  ]);
  expect(await tails(data)).toEqual([
    ['a.log', 14, 'last'],
    ['b.log', 1, 'b'],
  ]);
});

test('links and folders with names of logs are skipped', async () => {
  const data = await archive([
    { name: 'diag/a.log', type: 'symlink' },
    { name: 'diag/b.log/', type: 'directory' },
    { name: '../../c.log', content: 'c' },
  ]);
  expect(await tails(data)).toEqual([['c.log', 1, 'c']]);
});

test('an archive above the limit is cut, and the files so far are kept', async () => {
  const data = await archive([
    { name: 'a.log', content: 'a' },
    { name: 'b.log', content: 'b'.repeat(50_000) },
  ]);
  expect(await tails(data, { streamBytes: 4096 })).toEqual([
    ['a.log', 1, 'a'],
    ['b.log', 50_000, 'bbbb'],
  ]);
});

test('any damaged or incomplete archive is read within the limits, without an error', async () => {
  const whole = await archive([
    { name: 'a.log', content: 'x'.repeat(2000) },
    { name: 'b.log', content: 'y' },
  ]);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length),
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }),
      fc.integer({ min: 1, max: 1500 }),
      async (length, damage, size) => {
        const data = Buffer.from(whole);
        for (const [at, byte] of damage) data[at] = byte;
        const found = await tails(data.subarray(0, length), {}, size);
        expect(found.length).toBeLessThanOrEqual(limits.files);
        for (const [, , end = ''] of found) expect(String(end).length).toBeLessThanOrEqual(limits.fileBytes);
      },
    ),
  );
});
