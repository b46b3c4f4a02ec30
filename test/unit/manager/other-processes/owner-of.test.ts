import { expect, test } from 'vitest';
import { type Owners, type SeenProcess, whoseIs } from '../../../../src/manager/other-processes/owners.ts';

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
  isDockerAway: false,
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
  ['somebody who is logged in', process({}), { kind: 'stranger' }],
  [
    'a service of the host',
    process({ uid: 0, login: 'root', cgroups: ['/system.slice/train.service'] }),
    { kind: 'stranger' },
  ],
  ['a process that is gone', undefined, { kind: 'unseen' }],
  ['a job (systemd names groups)', process({ uid: 4000, cgroups: scope(ours) }), run('0', true)],
  ['a job (Docker names groups)', process({ uid: 4000, cgroups: [`/docker/${ours}`] }), run('0', true)],
  [
    'a job that made groups below its own',
    process({ cgroups: [`/docker/${ours}/docker/${ended}`] }),
    run('0', true),
  ],
  ['what is left of an ended container', process({ cgroups: scope(ended) }), run('1', false)],
  [
    "somebody else's container",
    process({ uid: 0, cgroups: scope(other) }),
    { kind: 'stranger', container: other },
  ],
  [
    'a job straight on the host',
    process({
      uid: 58_999,
      login: 'azp-agent-bare',
      cgroups: ['/system.slice/azp-fleet-agent-bare.service'],
    }),
    run('bare', true),
  ],
  [
    'its user manager',
    process({
      uid: 58_999,
      login: 'azp-agent-bare',
      cgroups: ['/user.slice/user-58999.slice/user@58999.service/app.slice/x.service'],
    }),
    run('bare', true),
  ],
  [
    "another container with the same user's number",
    process({ uid: 58_999, login: 'azp-agent-bare', cgroups: scope(other) }),
    { kind: 'stranger', container: other },
  ],
  [
    'a person with a group named after a container of ours',
    process({ cgroups: [`/user.slice/user-1000.slice/user@1000.service/docker-${ended}.scope`] }),
    { kind: 'stranger' },
  ],
  [
    'a person with a group named after an agent',
    process({
      cgroups: ['/user.slice/user-1000.slice/user@1000.service/system.slice/azp-fleet-agent-bare.service'],
    }),
    { kind: 'stranger' },
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
    'its server for the user of a job, though started over ssh',
    process({ uid: 59_000, comm: 'nvidia-cuda-mps', starter: mps(0) }),
    { kind: 'service' },
  ],
  [
    "the server of a person's own MPS",
    process({ comm: 'nvidia-cuda-mps', starter: mps(1000) }),
    { kind: 'stranger' },
  ],
  [
    'what calls itself so and was started by something else',
    process({ comm: 'nvidia-cuda-mps', starter: { ...mps(0), comm: 'sudo' } }),
    { kind: 'stranger' },
  ],
  ['MPS that a person has started', process({ comm: 'nvidia-cuda-mps' }), { kind: 'stranger' }],
  [
    'a container that calls itself MPS',
    process({ uid: 0, comm: 'nvidia-cuda-mps', cgroups: scope(other) }),
    { kind: 'stranger', container: other },
  ],
  [
    'what is left of a job, and calls itself MPS',
    process({ uid: 0, comm: 'nvidia-cuda-mps', cgroups: scope(ended) }),
    run('1', false),
  ],
  ['a desktop', process({ comm: 'kwin_wayland' }), { kind: 'service' }],
  [
    'the X server',
    process({ uid: 0, comm: 'Xorg', cgroups: ['/system.slice/gdm.service'] }),
    { kind: 'service' },
  ],
])('%s', (_, who, whose) => {
  expect(whoseIs(who, 300, owners)).toEqual(whose);
});

test('a process with the name of a desktop and too much memory belongs to another user', () => {
  expect(whoseIs(process({ comm: 'Xorg' }), 1025, owners)).toEqual({ kind: 'stranger' });
});

test('while Docker is away a container that is not known may be ours, and one that is known is', () => {
  const away = { ...owners, isDockerAway: true };
  expect(whoseIs(process({ cgroups: scope(other) }), 300, away)).toEqual({ kind: 'unknown' });
  expect(whoseIs(process({ cgroups: scope(ended) }), 300, away)).toEqual(run('1', false));
  expect(whoseIs(process({}), 300, away)).toEqual({ kind: 'stranger' });
});
