import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extract, pack } from 'tar-stream';
import { afterAll, expect, it } from 'vitest';

import {
  headerOf,
  openBundle,
  padded,
  readMember,
  writeBundle,
} from '../../../../src/fleet/bundle/archive.ts';
import { digestsOf, type Manifest, parseManifest } from '../../../../src/fleet/bundle/manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bundle-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** Returns a manifest whose members have these contents: program, unit, context, index, package, image. */
function manifestOf(contents: readonly string[]): Manifest {
  const at = (index: number): string => sha256(contents[index] ?? 'x');
  const manifest = {
    schema: 1,
    version: '1.0.0',
    at: '2026-11-22T14:00:00Z',
    manager: { program: at(0), unit: at(1), context: [{ path: 'Dockerfile', sha256: at(2) }] },
    agents: [],
    runtimes: [
      { machine: 'x86_64', version: '24.21.0', sha256: at(0), unpacked: { sha256: at(1), size: 5 } },
    ],
    packages: [
      {
        system: 'debian-12',
        machine: 'x86_64',
        index: at(3),
        keys: [],
        packages: [
          { name: 'gcc', version: '4:12', architecture: 'amd64', file: 'gcc_12_amd64.deb', sha256: at(4) },
        ],
      },
    ],
    images: [{ reference: 'azp-fleet/agent:1', machine: 'x86_64', sha256: at(5) }],
  } as const;
  const members = [...new Set(digestsOf({ ...manifest, members: [] } as never))].map((digest) => ({
    sha256: digest,
    size: Buffer.byteLength(contents.find((content) => sha256(content) === digest) ?? 'x'),
  }));
  return { ...manifest, members } as unknown as Manifest;
}

const contents = [
  'the manager',
  'the unit',
  'FROM x',
  'Package: gcc\n',
  'deb'.repeat(500),
  'layers'.repeat(300),
];
const manifest = manifestOf(contents);

async function written(name: string, of = manifest, from: readonly string[] = contents): Promise<string> {
  const file = join(folder, name);
  for (const content of from) writeFileSync(join(folder, sha256(content)), content);
  await writeBundle(file, of, (digest) => join(folder, digest), signal);
  return file;
}
const bytesOf = async (name: string): Promise<Buffer> => readFileSync(await written(name));
const problem = (file: string): Promise<unknown> =>
  openBundle(file, { signal }).then(
    () => 'it was taken',
    (error: { problem?: { code: string } }) => error.problem?.code ?? error,
  );

/** Applies `change` to a complete bundle. */
async function hostile(name: string, change: (bytes: Buffer) => Buffer): Promise<unknown> {
  const file = join(folder, `${name}.hostile`);
  writeFileSync(file, change(await bytesOf(name)));
  return problem(file);
}

it('is always written with the same bytes, and read completely', async () => {
  const [one, other] = [await bytesOf('one'), await bytesOf('other')];
  expect(one.equals(other)).toBe(true);
  const opened = await openBundle(await written('one'), { signal });
  expect(opened.manifest).toEqual(manifest);
  expect((await readMember(opened, sha256('the unit'))).toString()).toBe('the unit');
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
});

it('is an archive that tar reads', async () => {
  const names: string[] = [];
  const reader = extract();
  reader.on('entry', ({ name, type }, content, next) => {
    names.push(`${type} ${name}`);
    content.resume().on('end', next);
  });
  reader.end(await bytesOf('tar'));
  await new Promise((resolve) => reader.on('finish', resolve));
  expect(names).toEqual([
    'file manifest.json',
    ...manifest.members.map((each) => `file members/${each.sha256}`),
    'file manifest.sha256',
  ]);
});

it('has the headers of tar-stream for any size, except dates and owners', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('manifest.json', `members/${'a'.repeat(64)}`),
      fc.nat(),
      async (name, size) => {
        const archive = pack();
        archive.entry({ name, size, mode: 0o644, uid: 0, gid: 0, mtime: new Date(0) });
        const head = await new Promise<Buffer>((resolve) => archive.once('data', resolve));
        const ours = headerOf(name, size);
        for (const [from, to] of [
          [0, 100],
          [124, 136],
          [156, 157],
        ] as const)
          expect(ours.toString('latin1', from, to).replaceAll(/[\0 ]/g, '')).toBe(
            head.toString('latin1', from, to).replaceAll(/[\0 ]/g, ''),
          );
        archive.destroy();
      },
    ),
    { numRuns: 30 },
  );
});

const flips: readonly (readonly [what: string, change: (bytes: Buffer) => Buffer])[] = [
  ['is cut off', (bytes) => bytes.subarray(0, bytes.length - 700)],
  ['has something behind it', (bytes) => Buffer.concat([bytes, Buffer.alloc(512)])],
  ['has something between its files', (bytes) => flipped(bytes, 512 + padded(manifestBytes(bytes)) - 1)],
  ['has another member', (bytes) => flipped(bytes, bytes.length - 2048 - 600)],
  ['has another owner in a header', (bytes) => flipped(bytes, lastHeader(bytes) + 110)],
  ['names a path outside', (bytes) => renamed(bytes, '../../../etc/passwd')],
  ['has a link instead of a member', (bytes) => typed(bytes, '2')],
  ['has a hard link instead of a member', (bytes) => typed(bytes, '1')],
  ['has a device instead of a member', (bytes) => typed(bytes, '3')],
  [
    'has another manifest',
    (bytes) => Buffer.from(bytes.toString('latin1').replace('4:12', '4:13'), 'latin1'),
  ],
  ['has other bytes at its end', (bytes) => flipped(bytes, bytes.length - 1)],
];

it.each(flips)('one that %s is damaged', async (what, change) => {
  expect(await hostile(what.replaceAll(' ', '-'), change)).toBe('bundle.damaged');
});

it('a flipped bit anywhere is found', async () => {
  const bytes = await bytesOf('bits');
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (at, bit) => {
      const file = join(folder, 'bit');
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ (1 << bit);
      writeFileSync(file, other);
      expect(['bundle.damaged', 'bundle.file', 'bundle.version']).toContain(await problem(file));
    }),
    { numRuns: 200 },
  );
});

it.each([
  ['nothing', ''],
  ['text', 'inventory: yes\n'.repeat(200)],
  ['zeroes', '\0'.repeat(4096)],
])('%s is not a bundle', async (name, content) => {
  const file = join(folder, `${name}.none`);
  writeFileSync(file, content);
  expect(await problem(file)).toBe('bundle.file');
});

it('a manifest that claims to be huge is not read', async () => {
  const file = join(folder, 'huge');
  writeFileSync(file, Buffer.concat([headerOf('manifest.json', 2 ** 32), Buffer.alloc(2048)]));
  expect(await problem(file)).toBe('bundle.damaged');
  truncateSync(file, 512);
  expect(await problem(file)).toBe('bundle.file');
});

it('a manifest of a later release is reported with its schema', async () => {
  const later = { ...manifest, schema: 7 } as unknown as Manifest;
  expect(await problem(await written('later', later))).toBe('bundle.version');
});

it('follows a link to a bundle, and reports a folder and a missing file', async () => {
  const link = join(folder, 'link');
  symlinkSync(await written('linked'), link);
  expect(await problem(link)).toBe('it was taken');
  expect(await problem(join(folder, 'no-such-file'))).toBe('bundle.file');
});

it('an unused, missing or duplicate member makes a manifest invalid', () => {
  const isValid = (change: Partial<Manifest>): boolean =>
    parseManifest(JSON.stringify({ ...manifest, ...change })).manifest !== undefined;
  const [first, ...rest] = manifest.members;
  if (first === undefined) throw new Error('no members');
  expect(isValid({})).toBe(true);
  expect(isValid({ members: rest })).toBe(false);
  expect(isValid({ members: [...manifest.members, first] })).toBe(false);
  expect(isValid({ members: [...manifest.members, { sha256: 'f'.repeat(64), size: 1 }] })).toBe(false);
  const named = (file: string): boolean =>
    isValid({
      packages: manifest.packages.map((set) => ({
        ...set,
        packages: set.packages.map((each) => ({ ...each, file })),
      })),
    });
  expect(named('a.deb')).toBe(true);
  expect(named('../a.deb')).toBe(false);
  expect(named('..')).toBe(false);
  expect(named('a b')).toBe(false);
});

it('any JSON is a consistent manifest or none', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseManifest(text).manifest).toBeUndefined();
    }),
  );
});

function manifestBytes(bytes: Buffer): number {
  return Number.parseInt(bytes.toString('latin1', 124, 135), 8);
}
function lastHeader(bytes: Buffer): number {
  const last = manifest.members.at(-1);
  return bytes.length - 2048 - padded(last?.size ?? 0) - 512;
}
function flipped(bytes: Buffer, at: number): Buffer {
  const other = Buffer.from(bytes);
  other[at] = (other[at] ?? 0) ^ 0x20;
  return other;
}
function summed(bytes: Buffer, at: number): Buffer {
  bytes.fill(' ', at + 148, at + 156);
  const sum = bytes.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148);
  return bytes;
}
function renamed(bytes: Buffer, name: string): Buffer {
  const other = Buffer.from(bytes);
  const at = lastHeader(bytes);
  other.fill(0, at, at + 100);
  other.write(name, at);
  return summed(other, at);
}
function typed(bytes: Buffer, type: string): Buffer {
  const other = Buffer.from(bytes);
  const at = lastHeader(bytes);
  other.write(type, at + 156);
  other.write('/etc/shadow', at + 157);
  return summed(other, at);
}
