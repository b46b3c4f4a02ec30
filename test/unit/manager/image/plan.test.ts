import { expect, test } from 'vitest';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import { planImage } from '../../../../src/manager/image/plan.ts';
import { resolveSlots } from '../../../../src/manager/slots/resolve.ts';
import { desiredOf as desiredFor } from '../../../../src/fleet/plan/desired.ts';
import { managerConfig } from '../../../../src/fleet/steps/manager/config.ts';
import { desiredOf } from '../../../support/host.ts';

/** Returns the manager's configuration for the first host of an inventory. */
function configFor(hostAndMore: string) {
  const text = `organization: https://dev.azure.com/lab\ntoken: { env: T }\n${hostAndMore}`;
  const fleet = parseFleet(text, 'inventory.yaml', { env: {}, cwd: '/lab', home: '/home/me' });
  const { artifacts, version, root } = desiredOf();
  const [host] = fleet.hosts;
  if (host === undefined) throw new Error('no host');
  const sources = {
    artifacts,
    version,
    root,
    credential: undefined,
    registries: undefined,
    webhooks: new Map(),
    caPem: undefined,
  };
  return managerConfig(desiredFor(fleet, sources)(host), 'x64');
}

/** Returns the build arguments on a host without GPUs. */
function args(hostAndMore: string) {
  const plan = planImage(
    configFor(hostAndMore),
    { arch: 'x86_64', hasGpus: false, report: undefined },
    Buffer.alloc(0),
    () => Promise.reject(new Error('no folder')),
  );
  if (plan.kind !== 'build') throw new Error('not built');
  return plan.args;
}

const plain = 'hosts: { a: { pool: p } }\n';

test('a plain host: no mirror, no graphics, no Docker client', () => {
  expect(args(plain)).toMatchObject({ GRAPHICS: '0', DOCKER_CLIENT: '0', JOBS_SUDO: '0' });
  expect(args(plain)).not.toHaveProperty('APT_MIRROR');
});

test('in a closed network the build uses mirrors for all downloads', () => {
  const closed = args(
    `${plain}mirrors: { apt: "http://mirror.lab/", agent: "https://mirror.lab/azure", images: registry.lab }\n`,
  );
  expect(closed).toMatchObject({
    APT_MIRROR: 'http://mirror.lab',
    BASE: 'registry.lab/library/ubuntu:24.04',
    AGENT_URL: expect.stringMatching(/^https:\/\/mirror\.lab\/azure\/agent\//) as string,
  });
  expect(JSON.stringify(closed)).not.toMatch(/docker\.io|microsoft|azure\.com|ubuntu\.com|debian\.org/);
});

test('adds the Docker client for jobs that may use Docker', () => {
  expect(args('hosts: { a: { pool: p, jobs: { docker: true } } }\n')).toMatchObject({ DOCKER_CLIENT: '1' });
});

test.each(['one-per-gpu', '2'])('graphics for agents: %s', (agents) => {
  const host = `hosts: { a: { pool: p, agents: ${agents}, gpus: 2, driverCapabilities: [compute, utility, graphics] } }\n`;
  expect(args(host)).toMatchObject({ GRAPHICS: '1' });
  expect(resolveSlots(configFor(host), []).map(({ capabilities }) => capabilities)).toEqual([
    ['compute', 'utility', 'graphics'],
    ['compute', 'utility', 'graphics'],
  ]);
});

test('listed slots use the capabilities of the host or group, or their own', () => {
  const fleet = `groups: { desks: { vars: { driverCapabilities: [graphics, utility] }, hosts: [a] } }
hosts: { a: { pool: p, agents: [{ gpus: [0] }, { gpus: [1], capabilities: [compute] }] } }\n`;
  expect(resolveSlots(configFor(fleet), []).map(({ capabilities }) => capabilities)).toEqual([
    ['graphics', 'utility'],
    ['compute'],
  ]);
  expect(args(fleet)).toMatchObject({ GRAPHICS: '1' });
  const none =
    'hosts: { a: { pool: p, driverCapabilities: [graphics], agents: [{ gpus: [1], capabilities: [compute] }] } }\n';
  expect(args(none)).toMatchObject({ GRAPHICS: '0' });
});
