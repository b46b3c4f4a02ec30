import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { libcudaFile, standInLibcuda } from './nvidia-packages.ts';
import { inState, labFiles, mirrorRoot } from './paths.ts';
import { run } from './run.ts';

const share = 'usr/lib/nvidia-standin';
const source = (...parts: string[]): string => labFiles('gpu', ...parts);
/** The path of each file of the stand-in driver, and its source. */
const copies: readonly (readonly [path: string, from: string, mode: number])[] = [
  ['usr/bin/nvidia-smi', source('driver', 'nvidia-smi'), 0o755],
  ['usr/bin/nvidia-persistenced', source('runfile', 'nvidia-persistenced'), 0o755],
  ['usr/bin/nvidia-uninstall', source('runfile', 'nvidia-uninstall'), 0o755],
  [`${share}/smi.awk`, source('driver', 'smi.awk'), 0o644],
  [`${share}/kernel-module`, source('driver', 'kernel-module'), 0o755],
  ['usr/lib/modprobe.d/nvidia-standin.conf', source('driver', 'modprobe.conf'), 0o644],
  ['usr/lib/systemd/system/nvidia-boot.service', source('driver', 'nvidia-boot.service'), 0o644],
];

const pathOf = (version: string): string =>
  join('XFree86', 'Linux-x86_64', version, `NVIDIA-Linux-x86_64-${version}.run`);

/** Writes the stand-in for NVIDIA's `.run` file of a version below `root`, at NVIDIA's path. */
export async function buildRunfile(version: string, root: string): Promise<void> {
  mkdirSync(inState('tmp'), { recursive: true });
  const tree = mkdtempSync(inState('tmp', 'runfile-'));
  const put = (path: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), content);
  };
  const filled = (name: string): string =>
    readFileSync(source('runfile', name), 'utf8').replaceAll('@VERSION@', version);
  for (const [path, from, mode] of copies) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    copyFileSync(from, join(tree, path));
    chmodSync(join(tree, path), mode);
  }
  put(`${share}/userspace`, `${version}\n`);
  put(`${share}/kmod`, `${version}\n`);
  put(`${share}/flavor`, '');
  put(libcudaFile.slice(1), standInLibcuda(0));
  put('usr/src/nvidia/dkms.conf', filled('dkms.conf'));
  put('usr/src/nvidia/stand-in.ko', standInModule(version));
  const archive = inState('tmp', `${version}.tar`);
  await run('tar', ['-cf', archive, '--owner=0', '--group=0', '-C', tree, 'usr']);
  const file = join(root, pathOf(version));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, Buffer.concat([Buffer.from(filled('installer')), readFileSync(archive)]));
  rmSync(tree, { recursive: true });
  rmSync(archive);
}

/** Returns the sha256 of the file that the lab's mirror serves. */
export function runfileDigest(version: string): string {
  return createHash('sha256')
    .update(readFileSync(join(mirrorRoot, pathOf(version))))
    .digest('hex');
}

/** Returns an ELF file to be linked (REL, x86-64) with a .modinfo, as depmod and modinfo read it. */
export function standInModule(version: string): Buffer {
  const info = Buffer.from(`version=${version}\0`);
  const names = Buffer.from('\0.modinfo\0.shstrtab\0');
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  [1, 62].forEach((value, index) => header.writeUInt16LE(value, 16 + 2 * index));
  header.writeUInt32LE(1, 20);
  const at = 64 + info.length;
  // The headers of the sections, at a multiple of eight.
  const table = Math.ceil((at + names.length) / 8) * 8;
  header.writeUInt32LE(table, 40);
  [64, 0, 0, 64, 3, 2].forEach((value, index) => header.writeUInt16LE(value, 52 + 2 * index));
  const section = (name: number, type: number, offset: number, size: number): Buffer => {
    const all = Buffer.alloc(64);
    all.writeUInt32LE(name, 0);
    all.writeUInt32LE(type, 4);
    all.writeUInt32LE(offset, 24);
    all.writeUInt32LE(size, 32);
    return all;
  };
  return Buffer.concat([
    header,
    info,
    names,
    Buffer.alloc(table - at - names.length),
    Buffer.alloc(64),
    section(1, 1, 64, info.length),
    section(10, 3, at, names.length),
  ]);
}
