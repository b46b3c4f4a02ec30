import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { factProbes, factScript } from '../../../../src/fleet/facts/gather.ts';
import { parseFacts } from '../../../../src/fleet/facts/parse.ts';
import { parseFrames } from '../../../../src/fleet/ssh/session/frames.ts';

const root = mkdtempSync(join(tmpdir(), "azp-fleet it's "));
afterAll(() => rmSync(root, { recursive: true }));

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function device(address: string, vendor: string, klass: string, id: string, driver?: string): void {
  const folder = `sys/bus/pci/devices/${address}`;
  put(`${folder}/vendor`, `${vendor}\n`);
  put(`${folder}/class`, `${klass}\n`);
  put(`${folder}/device`, `${id}\n`);
  if (driver !== undefined) symlinkSync(`../../../bus/pci/drivers/${driver}`, join(root, folder, 'driver'));
}

device('0000:00:1f.0', '0x8086', '0x060100', '0xa1c1');
device('0000:01:00.0', '0x10de', '0x030000', '0x2684', 'vfio-pci');
device('0000:01:00.1', '0x10de', '0x040300', '0x22ba');
device('0000:83:00.0', '0x10de', '0x030200', '0x2335', 'nvidia');
device('0005:00:00.0', '0x10de', '0x068000', '0x22a3');
put('sys/module/nvidia/version', '580.95.05\n');
put(
  'proc/driver/nvidia/version',
  'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05\nGCC version: 12\n',
);
put('sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c', Uint8Array.of(6, 0, 0, 0, 1));

/** Shells that a host may use as /bin/sh, if installed here. */
const shells = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(
  ([program = '', ...args]) => spawnSync(program, [...args, '-c', ':']).status === 0,
);

describe('the fact script', () => {
  it('reads this machine', () => {
    const { stdout, status } = spawnSync('/bin/sh', {
      input: factScript({ root: machineRoot }),
      encoding: 'utf8',
    });
    const facts = parseFacts(parseFrames(stdout));
    expect(status).toBe(0);
    expect(facts.os.id).not.toBe('');
    expect(facts.cpus).toBeGreaterThan(0);
    expect(facts.disk['/']?.freeBytes).toBeGreaterThan(0);
    expect(facts.bootId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(shells)('finds GPUs, driver and Secure Boot below another root: %s', (program, ...args) => {
    const frames = factProbes({ root: { prefix: root } }).map(({ name, script }) => {
      const { status, stdout, stderr } = spawnSync(program, [...args, '-c', script], { encoding: 'utf8' });
      return [name, { code: status ?? 1, stdout, stderr, durationMs: 0, timedOut: false }] as const;
    });
    const facts = parseFacts(new Map(frames));
    expect(facts).toMatchObject({
      gpus: [{ address: '0000:83:00.0', deviceId: '2335', boundTo: 'nvidia' }],
      passedThrough: [{ address: '0000:01:00.0', deviceId: '2684', boundTo: 'vfio-pci' }],
      nvswitches: 1,
      driver: { loaded: '580.95.05', open: true, nouveau: false, secureBoot: true },
    });
    const noisy = frames.filter(
      ([name, { stderr }]) => stderr !== '' && name !== 'daemon-json' && name !== 'manager-status',
    );
    expect(noisy).toEqual([]);
  });

  it('does not call the driver, because a hung GPU would block the script', () => {
    const asked = join(root, 'asked');
    for (const program of [
      'nvidia-smi',
      'nvidia-modprobe',
      'nvidia-ctk',
      'nvidia-container-cli',
      'modprobe',
    ]) {
      put(`programs/${program}`, `#!/bin/sh\necho "$0 $*" >>"${asked}"\n`);
      chmodSync(join(root, 'programs', program), 0o755);
    }
    spawnSync('/bin/sh', {
      input: factScript({ root: { prefix: root } }),
      env: { PATH: `${join(root, 'programs')}:/usr/sbin:/usr/bin:/sbin:/bin` },
    });
    expect(existsSync(asked)).toBe(false);
  });

  it('fails if a host cannot be read', () => {
    expect(() => parseFacts(new Map())).toThrow("the host's os facts could not be read");
  });
});

it('is as long as docs/costs.md says', () => {
  const page = readFileSync('docs/costs.md', 'utf8');
  const documented = Number(/to it \| ([\d.]+) kB, plus SSH/.exec(page)?.[1]) * 1000;
  const { length } = Buffer.from(factScript({ root: machineRoot }));
  expect(Math.abs(documented - length)).toBeLessThan(length / 20);
});
