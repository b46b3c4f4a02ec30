import { expect, test } from 'vitest';
import { type Owners, type SeenProcess, ownerOf } from '../../../../src/manager/other-processes/owners.ts';

const ours = 'a'.repeat(64);
const ended = 'b'.repeat(64);
const other = 'c'.repeat(64);
const run = (slot: string, live: boolean) => ({ kind: 'run', slot, live });

const owners: Owners = {
  containers: new Map([
    [ours, { slot: '0', live: true }],
    [ended, { slot: '1', live: false }],
  ]),
  units: new Map([['azp-fleet-agent-bare.service', { slot: 'bare', live: true }]]),
  users: new Map([['azp-agent-bare', { slot: 'bare', live: true }]]),
  isDockerDown: false,
};

const process = (changes: Partial<SeenProcess>): SeenProcess => ({
  pid: 7,
  parent: 1,
  uid: 1000,
  comm: 'python3',
  state: 'S',
  startTicks: 1,
  startedAt: 0,
  cgroups: ['/user.slice/user-1000.slice/session-3.scope'],
  login: 'alice',
  ...changes,
});
const mps = (uid: number) => process({ uid, comm: 'nvidia-cuda-mps' });
const scope = (id: string): string[] => [`/system.slice/docker-${id}.scope`];

test.each([
  ['a process of a login session', process({}), { kind: 'foreign' }],
  [
    'a service of the host',
    process({ uid: 0, login: 'root', cgroups: ['/system.slice/train.service'] }),
    { kind: 'foreign' },
  ],
  ['a process that has exited', undefined, { kind: 'hidden' }],
  ['a job (systemd names groups)', process({ uid: 4000, cgroups: scope(ours) }), run('0', true)],
  ['a job (Docker names groups)', process({ uid: 4000, cgroups: [`/docker/${ours}`] }), run('0', true)],
  [
    'a job that created control groups below its own',
    process({ cgroups: [`/docker/${ours}/docker/${ended}`] }),
    run('0', true),
  ],
  ['a leftover of an ended container', process({ cgroups: scope(ended) }), run('1', false)],
  [
    "another user's container",
    process({ uid: 0, cgroups: scope(other) }),
    { kind: 'foreign', container: other },
  ],
  [
    'a job of a slot with mode: host',
    process({
      uid: 58_999,
      login: 'azp-agent-bare',
      cgroups: ['/system.slice/azp-fleet-agent-bare.service'],
    }),
    run('bare', true),
  ],
  [
    'the user manager of such a job',
    process({
      uid: 58_999,
      login: 'azp-agent-bare',
      cgroups: ['/user.slice/user-58999.slice/user@58999.service/app.slice/x.service'],
    }),
    run('bare', true),
  ],
  [
    'another container with the same uid',
    process({ uid: 58_999, login: 'azp-agent-bare', cgroups: scope(other) }),
    { kind: 'foreign', container: other },
  ],
  [
    'a user with a control group named like a container of ours',
    process({ cgroups: [`/user.slice/user-1000.slice/user@1000.service/docker-${ended}.scope`] }),
    { kind: 'foreign' },
  ],
  [
    'a user with a control group named like an agent unit',
    process({
      cgroups: ['/user.slice/user-1000.slice/user@1000.service/system.slice/azp-fleet-agent-bare.service'],
    }),
    { kind: 'foreign' },
  ],
  [
    'the persistence daemon',
    process({
      uid: 112,
      login: 'nvidia-persistenced',
      comm: 'nvidia-persiste',
      cgroups: ['/system.slice/nvidia-persistenced.service'],
    }),
    { kind: 'service' },
  ],
  [
    'the server of MPS',
    process({ uid: 0, login: 'root', comm: 'nvidia-cuda-mps', cgroups: ['/system.slice/mps.service'] }),
    { kind: 'service' },
  ],
  [
    'an MPS server for the user of a job, started over ssh',
    process({ uid: 59_000, comm: 'nvidia-cuda-mps', starter: mps(0) }),
    { kind: 'service' },
  ],
  [
    "the server of a person's own MPS",
    process({ comm: 'nvidia-cuda-mps', starter: mps(1000) }),
    { kind: 'foreign' },
  ],
  [
    'a process named like MPS with another parent',
    process({ comm: 'nvidia-cuda-mps', starter: { ...mps(0), comm: 'sudo' } }),
    { kind: 'foreign' },
  ],
  ['MPS that a user has started', process({ comm: 'nvidia-cuda-mps' }), { kind: 'foreign' }],
  [
    'a container process named like MPS',
    process({ uid: 0, comm: 'nvidia-cuda-mps', cgroups: scope(other) }),
    { kind: 'foreign', container: other },
  ],
  [
    'a leftover of a job, named like MPS',
    process({ uid: 0, comm: 'nvidia-cuda-mps', cgroups: scope(ended) }),
    run('1', false),
  ],
  ['a desktop', process({ comm: 'kwin_wayland' }), { kind: 'service' }],
  [
    'the X server',
    process({ uid: 0, comm: 'Xorg', cgroups: ['/system.slice/gdm.service'] }),
    { kind: 'service' },
  ],
])('%s', (_, seen, owner) => {
  expect(ownerOf(seen, 300, owners)).toEqual(owner);
});

test('a process with the name of a desktop and too much memory belongs to another user', () => {
  expect(ownerOf(process({ comm: 'Xorg' }), 1025, owners)).toEqual({ kind: 'foreign' });
});

test('while Docker does not answer, the owner of an unknown container is unknown', () => {
  const down = { ...owners, isDockerDown: true };
  expect(ownerOf(process({ cgroups: scope(other) }), 300, down)).toEqual({ kind: 'unknown' });
  expect(ownerOf(process({ cgroups: scope(ended) }), 300, down)).toEqual(run('1', false));
  expect(ownerOf(process({}), 300, down)).toEqual({ kind: 'foreign' });
});
