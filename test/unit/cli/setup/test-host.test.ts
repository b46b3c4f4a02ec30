import { expect, test } from 'vitest';

import { checkFacts } from '../../../../src/cli/setup/test-host.ts';
import { factsOf } from '../../../support/host.ts';

const h200 = { address: '0000:83:00.0', deviceId: '2335', boundTo: undefined };

test.each([
  ['two GPUs', factsOf({ gpus: [h200, h200] }), 'Debian 12, 2 GPUs, labadmin, 186 GiB free', undefined],
  ['one GPU', factsOf({ gpus: [h200] }), 'Debian 12, 1 GPU, labadmin, 186 GiB free', undefined],
  [
    'none',
    factsOf({ gpus: [], login: { user: 'root', uid: 0 } }),
    'Debian 12, no GPU, root, 186 GiB free',
    undefined,
  ],
  [
    'no systemd',
    factsOf({ systemd: undefined }),
    'Debian 12, 1 GPU, labadmin, 186 GiB free',
    'systemd is missing; the manager needs it',
  ],
  [
    'another architecture',
    factsOf({ arch: 'riscv64' }),
    'Debian 12, 1 GPU, labadmin, 186 GiB free',
    'Debian GNU/Linux 12 (bookworm) on riscv64 is not supported',
  ],
  [
    'a disk that is nearly full',
    factsOf({ disk: { '/var/lib/docker': { freeBytes: 9 * 1024 ** 3, mount: '/' } } }),
    'Debian 12, 1 GPU, labadmin, 9 GiB free',
    "not enough disk space for the agents' image in /var/lib/docker",
  ],
  [
    'space for images on another disk',
    factsOf({
      docker: { rootDir: '/data/docker' },
      disk: {
        '/': { freeBytes: 8 * 1024 ** 3, mount: '/' },
        '/data/docker': { freeBytes: 900 * 1024 ** 3, mount: '/data' },
      },
    }),
    'Debian 12, 1 GPU, labadmin, 900 GiB free',
    undefined,
  ],
  [
    'another system',
    factsOf({ os: { id: 'arch', idLike: [], versionId: '', codename: '', pretty: 'Arch Linux' } }),
    'Arch Linux, 1 GPU, labadmin, 186 GiB free',
    'Arch Linux on x86_64 is not supported',
  ],
])('a host with %s', (_, facts, summary, problem) => {
  const report = checkFacts('h200-1', facts);
  expect(report.summary).toBe(summary);
  expect(report.problem?.what).toBe(problem);
  expect(report.problem?.host).toBe(problem === undefined ? undefined : 'h200-1');
});

test('a host of which something was not read: what, why, and how to try it; nothing is said about the rest', () => {
  const unknown = [
    { fact: 'gpus', why: 'no answer in 15 s' },
    { fact: 'disk', why: 'exit code 1' },
  ];
  expect(checkFacts('h200-1', factsOf({ gpus: [], unknown }))).toEqual({
    name: 'h200-1',
    machine: expect.objectContaining({ bootId: expect.any(String) as string }) as object,
    problem: {
      code: 'facts.incomplete',
      host: 'h200-1',
      step: 'facts',
      what: 'facts incomplete: gpus (no answer in 15 s), disk (exit code 1)',
      next: 'find out why on the host: lspci -nn -d 10de:; df -Pk; then run again',
    },
  });
});
