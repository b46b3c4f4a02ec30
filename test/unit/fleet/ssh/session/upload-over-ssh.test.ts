// Uploads to a real sshd: a file is complete or absent, an interrupted upload resumes, a damaged one starts again.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Session } from '../../../../../src/fleet/ssh/transport.ts';
import { startDelayProxy } from '../../../../support/delay-proxy.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

const content = Buffer.from(Array.from({ length: 1_500_000 }, (_, index) => (index * 7919) % 251));
const sha256 = createHash('sha256').update(content).digest('hex');
let sshd: OwnSshd;
let transport: TestTransport;
let session: Session;
beforeAll(async () => {
  sshd = await startOwnSshd();
  transport = testTransport();
  session = await transport.connect(sshd.target());
});
afterAll(async () => {
  await transport.close();
  await sshd.stop();
});

const targetOf = (name: string) => join(sshd.folder, 'up', name);
const partOf = (path: string) => `${path}.${sha256.slice(0, 16)}.part`;

describe('an upload', () => {
  test('makes the folder and the file, with its mode, and is skipped if the file exists', async () => {
    const path = targetOf('a folder/a file');
    const progress: number[] = [];
    const options = { mode: 0o750, onProgress: (sent: number) => progress.push(sent) };
    expect(await session.upload({ bytes: content }, path, options)).toBe(true);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o750);
    expect(progress.at(-1)).toBe(content.length);
    expect(await session.upload({ bytes: content }, path, options)).toBe(false);
    chmodSync(path, 0o600);
    expect(await session.upload({ bytes: content }, path, options)).toBe(false);
    expect(statSync(path).mode & 0o777).toBe(0o750);
    expect(readdirSync(dirname(path))).toEqual(['a file']);
  });

  test('of no bytes makes an empty file', async () => {
    expect(await session.upload({ bytes: new Uint8Array() }, targetOf('empty'), { mode: 0o600 })).toBe(true);
    expect(readFileSync(targetOf('empty'))).toHaveLength(0);
  });

  test('is unpacked on the host, and resumes an earlier one', async () => {
    const file = join(sshd.folder, 'local.gz');
    const packed = gzipSync(content);
    writeFileSync(file, packed);
    const path = targetOf('unpacked');
    mkdirSync(dirname(path), { recursive: true });
    const half = Math.floor(packed.length / 2);
    writeFileSync(partOf(path), packed.subarray(0, half));
    const sent: number[] = [];
    const source = { file, sha256, size: content.length };
    const options = { mode: 0o644, packed: 'gzip', onProgress: (bytes: number) => sent.push(bytes) } as const;
    expect(await session.upload(source, path, options)).toBe(true);
    expect(sent[0]).toBeGreaterThan(half);
    expect(readFileSync(path).equals(content)).toBe(true);
  });

  test('of a part of a larger file resumes in the part', async () => {
    const file = join(sshd.folder, 'larger');
    writeFileSync(file, Buffer.concat([Buffer.from('before'), content, Buffer.from('behind')]));
    const source = { file, sha256, size: content.length, part: { start: 6, bytes: content.length } };
    for (const received of [0, 700_000, content.length]) {
      const path = targetOf(`part-${received}`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(partOf(path), content.subarray(0, received));
      expect(await session.upload(source, path, { mode: 0o644 })).toBe(true);
      expect(readFileSync(path).equals(content)).toBe(true);
    }
  });

  test('removes a partial file with wrong content, and partial files of other content', async () => {
    const path = targetOf('again');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(partOf(path), 'rubbish');
    writeFileSync(`${path}.0123456789abcdef.part`, 'of another content');
    expect(await session.upload({ bytes: content }, path, { mode: 0o644 })).toBe(true);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('again'))).toEqual(['again']);
  });

  test('of a local file with another digest is an error, and creates no file', async () => {
    const file = join(sshd.folder, 'changed');
    writeFileSync(file, content);
    const path = targetOf('damaged');
    const source = { file, sha256: '0'.repeat(64), size: content.length };
    expect(await problemOf(session.upload(source, path, { mode: 0o644 }))).toMatchObject({
      code: 'ssh.upload',
      what: `${path} arrived damaged`,
    });
    expect(existsSync(path)).toBe(false);
  });

  test('into a folder that cannot be created has the error of the host', async () => {
    writeFileSync(join(sshd.folder, 'in-the-way'), '');
    const path = join(sshd.folder, 'in-the-way/file');
    const problem = await problemOf(session.upload({ bytes: content }, path, { mode: 0o644 }));
    expect(problem).toMatchObject({
      code: 'ssh.upload',
      seen: expect.stringContaining('in-the-way') as string,
    });
  });

  test('that is cut keeps its partial file, and the next one sends the rest', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const cut = await transport.connect(sshd.target({ port: proxy.port }, 'cut'));
    const path = targetOf('cut');
    const lost = cut.upload({ bytes: content }, path, {
      mode: 0o644,
      onProgress: (sent) => {
        if (sent >= content.length / 2) proxy.cut();
      },
    });
    expect((await problemOf(lost)).code).toBe('ssh.connection-lost');
    proxy.close();
    const sent: number[] = [];
    const onProgress = (bytes: number) => sent.push(bytes);
    expect(await session.upload({ bytes: content }, path, { mode: 0o644, onProgress })).toBe(true);
    expect(readFileSync(path).equals(content)).toBe(true);
  });

  test('ends when it is aborted', async () => {
    const stop = new AbortController();
    const options = { mode: 0o644, signal: stop.signal, onProgress: () => stop.abort() };
    expect((await problemOf(session.upload({ bytes: content }, targetOf('stopped'), options))).code).toBe(
      'interrupted',
    );
    expect(existsSync(targetOf('stopped'))).toBe(false);
  });
});

test('no more uploads run at a time than configured', async () => {
  const narrow = testTransport({ uploads: { parallel: 2 } });
  const sessions = await Promise.all(
    [1, 2, 3, 4, 5].map((index) => narrow.connect(sshd.target({}, `h${index}`))),
  );
  const active = new Set<number>();
  let most = 0;
  await Promise.all(
    sessions.map(async (each, index) => {
      const onProgress = () => {
        active.add(index);
        most = Math.max(most, active.size);
      };
      await each.upload({ bytes: content }, targetOf(`narrow-${index}`), { mode: 0o600, onProgress });
      active.delete(index);
    }),
  );
  expect(most).toBeLessThanOrEqual(2);
  await narrow.close();
});
