import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HostRoot } from '../../shared/base/machine/host-root.ts';
import { unescaped } from '../machine/datasets.ts';

/**
 * True when btrfs no longer counts what the containers below `rootDir` hold: no size is held then, and Docker does not
 * notice. From Linux 6.1 on the removal of a subvolume ends the counting when its tree is higher than
 * `drop_subtree_threshold` (3 by default); a rescan brings it back. Source: sysfs of btrfs, `qgroups/inconsistent`.
 */
export async function countsLost(rootDir: string, { prefix }: HostRoot): Promise<boolean> {
  const device = basename(mountOf(rootDir, await readFile(`${prefix}/proc/self/mountinfo`, 'utf8')) ?? '');
  const folder = `${prefix}/sys/fs/btrfs`;
  for (const id of await readdir(folder).catch((): string[] => [])) {
    const devices = await readdir(join(folder, id, 'devices')).catch((): string[] => []);
    if (!devices.includes(device)) continue;
    const flag = await readFile(join(folder, id, 'qgroups/inconsistent'), 'utf8').catch(() => '0');
    return flag.trim() === '1';
  }
  return false;
}

/** The device of the mount that holds `path`, by the text of /proc/self/mountinfo; of several the one on top. Pure. */
export function mountOf(path: string, mountinfo: string): string | undefined {
  let found: { readonly point: string; readonly device: string } | undefined;
  for (const line of mountinfo.split('\n')) {
    const [own = '', filesystem = ''] = line.split(' - ');
    const point = unescaped(own.split(' ')[4] ?? '');
    const holds = point !== '' && `${path}/`.startsWith(point === '/' ? '/' : `${point}/`);
    if (holds && point.length >= (found?.point.length ?? 0))
      found = { point, device: unescaped(filesystem.split(' ')[1] ?? '') };
  }
  return found?.device;
}
