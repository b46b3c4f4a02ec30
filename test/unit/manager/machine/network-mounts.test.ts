import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { Datasets } from '../../../../src/manager/machine/datasets.ts';
import { NetworkMounts, networkMounts } from '../../../../src/manager/machine/network-mounts.ts';
import { fault } from '../../../support/fault.ts';
import { failed, printed } from '../../../support/rig-programs.ts';

const local = '22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n';
const mount = (path: string, source = 'nas-1:/export', type = 'nfs4'): string =>
  `36 22 0:52 / ${path} rw,noatime shared:9 - ${type} ${source} rw,vers=4.2,hard\n`;

function host(mountinfo: string) {
  const state = {
    mountinfo: `${local}${mountinfo}`,
    minute: 0,
    answers: new Map<string, CommandResult>(),
    asked: [] as string[],
  };
  const mounts = new NetworkMounts({
    mountinfo: async () => state.mountinfo,
    command: async (program, args) => {
      expect([program, ...args.slice(0, -1)]).toEqual(['stat', '-f', '-c', '%T', '--']);
      const path = args.at(-1) ?? '';
      state.asked.push(path);
      return state.answers.get(path) ?? printed('nfs\n');
    },
    clock: {
      wall: () => Date.UTC(2026, 10, 28, 8, state.minute),
      monotonic: () => 0,
      wait: async () => undefined,
      scaled: (ms) => ms,
    },
  });
  const findings = () => mounts.findings.map(({ severity, code, what }) => `${severity} ${code}: ${what}`);
  return { state, mounts, findings };
}

/** A child that outlived its deadline, and hangs in the kernel until `ends`. */
function hanging(): { readonly result: CommandResult; ends(): void } {
  let runs = true;
  return {
    result: { code: -1, output: '', timedOut: true, stillRunning: () => runs },
    ends: () => void (runs = false),
  };
}

fault(
  'nfs-hangs',
  'an NFS mount that hangs while the host is idle is a finding with its server and since when',
  async () => {
    const { state, mounts, findings } = host(mount('/data') + mount('/home', 'nas-2:/home'));
    await mounts.check();
    expect(findings()).toEqual([]);
    const child = hanging();
    state.answers.set('/data', child.result);
    state.minute = 15;
    await mounts.check();
    const expected = [
      'warn host.nfs-failed: the NFS mount /data of nas-1:/export does not answer, since 2026-11-28 08:15 UTC',
    ];
    expect(findings()).toEqual(expected);
    expect(mounts.findings[0]?.next).toMatch(/^check the server nas-1 and /);
    // No second child joins the one that hangs, and the time stays.
    state.asked.length = 0;
    state.minute = 16;
    await mounts.check();
    expect([state.asked, findings()]).toEqual([['/home'], expected]);
    child.ends();
    state.answers.delete('/data');
    await mounts.check();
    expect(findings()).toEqual([]);
  },
);

test('a stale handle is a failure with its reason; an unmounted file system is none', async () => {
  const { state, mounts, findings } = host(mount('/my\\040data'));
  const said = "stat: cannot read file system information for '/my data': Stale file handle\n";
  state.answers.set('/my data', failed(1, said));
  await mounts.check();
  expect(findings()).toEqual([
    'warn host.nfs-failed: the NFS mount /my data of nas-1:/export fails (Stale file handle), since 2026-11-28 08:00 UTC',
  ]);
  state.mountinfo = local;
  await mounts.check();
  expect(findings()).toEqual([]);
});

test('a host without NFS starts no process', async () => {
  const { state, mounts } = host(mount('/mnt/a', '//nas/share', 'cifs'));
  await mounts.check();
  expect(state.asked).toEqual([]);
});

test('a dataset on a mount that hangs is not read: the read would block a thread of the manager', async () => {
  const { state, mounts } = host(mount('/data') + mount('/data/sets/other', 'nas-2:/o'));
  state.answers.set('/data', hanging().result);
  const reads: string[] = [];
  const read = async (path: string) => {
    reads.push(path);
    return 'filled' as const;
  };
  const dataset = (path: string) => ({ name: 'D', host: path, container: '/d', requireMount: false });
  const problem = (path: string) =>
    new Datasets([dataset(path)], (folder) => mounts.problemAt(folder), read).problem();
  expect(await problem('/data/sets')).toMatchObject({
    code: 'dataset.unusable',
    what: 'dataset D: the NFS mount /data of nas-1:/export does not answer, since 2026-11-28 08:00 UTC',
  });
  expect(reads).toEqual([]);
  expect(await problem('/data/sets/other')).toBeUndefined();
  expect(await problem('/database')).toBeUndefined();
  expect(reads).toEqual(['/data/sets/other', '/database']);
});

test('of many mounts those of datasets are checked first, and the others are reported as not checked', async () => {
  const all = Array.from({ length: 70 }, (_, at) => mount(`/auto/${at}`, `nas-${at}:/e`)).join('');
  const { state, mounts, findings } = host(all);
  await mounts.check(['/auto/69/set']);
  expect(state.asked).toHaveLength(64);
  expect(state.asked[0]).toBe('/auto/69');
  expect(findings()).toEqual([
    'info host.nfs-unchecked: whether 6 more NFS mounts answer is unknown: 64 are checked, those of datasets first',
  ]);
});

test('names from the mount table are cleaned, and any table can be read', async () => {
  const { state, mounts, findings } = host(mount('/a\\033[31mred\\012x', 'nas\u001B[0m:/e'));
  state.answers.set('/a\u001B[31mred\nx', hanging().result);
  await mounts.check();
  expect(findings().join('')).not.toMatch(/[\u0000-\u001F]/);
  fc.assert(fc.property(fc.string(), (text) => void networkMounts(text)));
});

test('of two mounts at one path the last counts: it covers the other', () => {
  const covered = mount('/data') + mount('/data', 'nas-9:/new');
  expect(networkMounts(covered)).toEqual([{ path: '/data', source: 'nas-9:/new' }]);
  expect(networkMounts(`${mount('/data')}9 1 0:9 / /data rw - tmpfs tmpfs rw\n`)).toEqual([]);
});
