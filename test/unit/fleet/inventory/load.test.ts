import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { loadFleet } from '../../../../src/fleet/inventory/load.ts';
import { fleet, mistakes } from './fixture.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'inventory-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a host needs only its name and a pool', () => {
  const [host] = fleet('defaults: { pool: gpu-lab }\nhosts:\n  rtx-box:\n').hosts;
  expect(host).toEqual({
    name: 'rtx-box',
    groups: [],
    labels: {},
    ssh: { transport: 'builtin', hostKeys: [], hostKeyPolicy: 'accept-new' },
    pool: 'gpu-lab',
    agents: { kind: 'one-per-gpu' },
    share: false,
    agentName: '{host}-{slot}',
    limits: {},
    driverCapabilities: ['compute', 'utility'],
    driver: { install: true, branch: '580', orNewer: true, flavor: 'auto', method: 'repo' },
    docker: { version: '29.7.2', orNewer: true },
    toolkit: { version: '1.20.0', orNewer: true },
    agent: { version: '5.279.0', sha256: { x64: undefined, arm64: undefined } },
    datasets: [],
    jobs: { sudo: false, docker: false },
    fence: 'best-effort',
    connectivityCheck: 'on',
    registration: 'rest',
    capabilities: {},
  });
});

test.each([
  ['2', { gpus: 2 }],
  ['{ count: 2 }', { gpus: 2 }],
  ['{ ignore: ["10de:128b"] }', { gpus: 4, ignoredGpus: ['10de:128b'] }],
  ['{ count: 1, ignore: ["03:00.0"] }', { gpus: 1, ignoredGpus: ['03:00.0'] }],
])('ignored GPUs are set with the number of GPUs: %s', (gpus, expected) => {
  const [host] = fleet(`defaults: { pool: p, gpus: 4 }\nhosts: { a: { gpus: ${gpus} } }\n`).hosts;
  expect(host).toMatchObject(expected);
  expect(mistakes('hosts: { a: { pool: p, gpus: { ignore: ["GT 710"] } } }\n')[0]).toContain(
    'expected: a PCI address or a kind of card, as `lspci -Dnn -d 10de:` shows them',
  );
});

test('registries: where each password is found; files are relative to the inventory', () => {
  const { registries } = fleet(
    'hosts: { a: { pool: p } }\nregistries: { docker.io: { user: me, secret: { env: HUB } }, "r.lab:5000": { user: ci, secret: { file: word } } }\n',
  );
  expect(registries).toEqual({
    'docker.io': { user: 'me', secret: { env: 'HUB' } },
    'r.lab:5000': { user: 'ci', secret: { file: '/lab/word' } },
  });
});

describe('precedence', () => {
  const text = `
defaults: { pool: base, user: one, labels: { site: north, row: f0 }, limits: { shm: 8g, pids: 512 } }
groups:
  inner: { vars: { user: three, labels: { row: f2 } }, hosts: [a] }
  outer: { vars: { user: two, pool: big, labels: { row: f1, slot: r1 } }, children: [inner] }
hosts:
  a: { labels: { slot: r9 }, limits: { shm: 16g } }
  b: {}
`;
  const [a, b] = fleet(text).hosts;

  test('the host, then inner groups, then outer ones, then the defaults', () => {
    expect(a).toMatchObject({ groups: ['outer', 'inner'], pool: 'big', ssh: { user: 'three' } });
    expect(b).toMatchObject({ groups: [], pool: 'base', ssh: { user: 'one' } });
  });

  test('maps are merged key by key', () => {
    expect(a?.labels).toEqual({ site: 'north', row: 'f2', slot: 'r9' });
    expect(a?.limits).toEqual({ shm: '16g', pids: 512 });
  });

  test('an exact driver version does not apply to another branch', () => {
    const [host] = fleet(
      'defaults: { pool: p, driver: { branch: "580", version: "580.95.05" } }\nhosts: { a: { driver: { branch: "570" } } }\n',
    ).hosts;
    expect(host?.driver).toEqual({ install: true, branch: '570', flavor: 'auto', method: 'repo' });
  });

  test('the branch of an exact driver version is its own, whatever branch a weaker layer sets', () => {
    const layers = (branch: string) =>
      fleet(
        'defaults: { pool: p, driver: { branch: "580" } }\n' +
          'groups: { g: { vars: { driver: { version: 570.133.20 } }, hosts: [a] } }\n' +
          `hosts: { a: { driver: { branch: "${branch}" } } }\n`,
      ).hosts[0]?.driver;
    expect(layers('580')).toMatchObject({ branch: '580' });
    expect(layers('580')).not.toHaveProperty('version');
    expect(layers('570')).toMatchObject({ branch: '570', version: '570.133.20' });
  });

  test('digests of one agent version do not apply to another', () => {
    const digest = 'ab'.repeat(32);
    const [host] = fleet(
      `defaults: { pool: p, agent: { version: "4.1.0", sha256: { x64: "${digest}" } } }\nhosts: { a: { agent: { version: "4.2.0" } } }\n`,
    ).hosts;
    expect(host?.agent).toEqual({ version: '4.2.0', sha256: { x64: undefined, arm64: undefined } });
  });

  test('a volume of a host replaces the dataset of its defaults under the same variable', () => {
    const [host] = fleet(
      'defaults: { pool: p, datasets: { X: { host: /a, container: /x, requireMount: true } }, volumes: ["/m:/m:M"] }\nhosts: { a: { volumes: ["/b:/x:X"] } }\n',
    ).hosts;
    expect(host?.datasets).toEqual([
      { name: 'M', host: '/m', container: '/m', requireMount: false },
      { name: 'X', host: '/b', container: '/x', requireMount: false },
    ]);
  });
});

describe('values', () => {
  test('a variable is a number or text, as its key needs', () => {
    const [host] = fleet(
      'defaults:\n  pool: ${POOL:-p}\n  driver: { branch: "${BRANCH}" }\nhosts:\n  a: { port: "${PORT}", agents: "${N:-2}", share: true }\n',
      { BRANCH: '570', PORT: '2222' },
    ).hosts;
    expect(host).toMatchObject({
      pool: 'p',
      ssh: { port: 2222 },
      agents: { kind: 'count', count: 2 },
      driver: { branch: '570' },
    });
  });

  test('also inside a list of slots', () => {
    const [host] = fleet('hosts: { a: { pool: p, agents: [{ gpus: ["${GPU}"] }] } }\n', { GPU: '3' }).hosts;
    expect(host?.agents).toMatchObject({ kind: 'slots', slots: [{ gpus: [3] }] });
  });

  test('the value of a variable is not repeated in a message', () => {
    expect(mistakes('hosts: { a: { pool: p, port: "${PORT}" } }\n', { PORT: 'hunter2' })).toEqual([
      'inventory.yaml:3:30: hosts.a.port has an invalid value\nexpected: a port (a whole number from 1 to 65535)\nseen: ${PORT}\nnext: replace it with an expected value',
    ]);
  });

  test('slots inherit limits and sharing of their host', () => {
    const [host] = fleet(
      'hosts: { a: { pool: p, share: true, limits: { shm: 8g }, agents: [{ gpus: [0] }, { name: cpu, share: false, limits: { cpus: 2 } }] } }\n',
    ).hosts;
    expect(host?.agents).toEqual({
      kind: 'slots',
      slots: [
        {
          gpus: [0],
          share: true,
          limits: { shm: '8g' },
          capabilities: ['compute', 'utility'],
          mode: 'container',
        },
        {
          name: 'cpu',
          gpus: [],
          share: false,
          limits: { shm: '8g', cpus: 2 },
          capabilities: ['compute', 'utility'],
          mode: 'container',
        },
      ],
    });
  });

  test('`none` leaves Docker Engine and the toolkit unchanged; a version of a stronger layer replaces `none`', () => {
    const [left, own] = fleet(
      'defaults: { pool: p, docker: none, toolkit: none }\nhosts: { a: {}, b: { docker: { version: "29.7.2" } } }\n',
    ).hosts;
    expect(left).toMatchObject({ docker: { left: true }, toolkit: { left: true } });
    expect(own?.docker).toEqual({ version: '29.7.2' });
    const [above] = fleet(
      'defaults: { pool: p, docker: { version: "29.7.2" } }\nhosts: { a: { docker: none } }\n',
    ).hosts;
    expect(above?.docker.left).toBe(true);
  });

  test('`driver: none` leaves the driver unchanged', () => {
    expect(fleet('hosts: { a: { pool: p, driver: none } }\n').hosts[0]?.driver.install).toBe(false);
  });

  test('relative files start at the folder of the inventory, ~ at the home folder', () => {
    const { proxy, hosts } = fleet('ca: ca.pem\nhosts: { a: { pool: p, identityFile: ~/.ssh/lab } }\n');
    expect(proxy.ca).toBe('/lab/ca.pem');
    expect(hosts[0]?.ssh.identityFile).toBe('/home/me/.ssh/lab');
  });

  test('how many hosts a change may use at a time', () => {
    const hosts = 'defaults: { pool: p }\nhosts: { a: {} }\n';
    const quarter = { kind: 'percent', percent: 25 };
    expect(fleet(hosts).waves).toEqual({ maxUnavailable: quarter, maxFailures: { kind: 'count', count: 0 } });
    expect(fleet(`${hosts}waves: { maxUnavailable: 2, maxFailures: 5% }\n`).waves).toEqual({
      maxUnavailable: { kind: 'count', count: 2 },
      maxFailures: { kind: 'percent', percent: 5 },
    });
    expect(() => fleet(`${hosts}waves: { maxUnavailable: 0 }\n`)).toThrow('waves.maxUnavailable');
  });

  test('limits of uploads: bytes per second, and how many at a time', () => {
    const hosts = 'hosts: { a: { pool: p } }\n';
    expect(fleet(hosts).uploads).toEqual({ parallel: 10 });
    expect(fleet(`${hosts}uploads: { bandwidth: 80Mbit/s, parallel: 3 }\n`).uploads).toEqual({
      bandwidth: 10_000_000,
      parallel: 3,
    });
  });

  test('merge keys and aliases of YAML work, and mistakes in them are reported at their place', () => {
    const text = 'defaults: { pool: p }\nhosts:\n  a: &a { gpus: 2 }\n  b: { <<: *a, address: 192.0.2.2 }\n';
    expect(fleet(text).hosts[1]).toMatchObject({ gpus: 2, ssh: { address: '192.0.2.2' } });
    expect(mistakes(text.replace('gpus: 2', 'gpus: two'))[0]).toContain('inventory.yaml:5:17: hosts.a.gpus');
  });

  test('an alias bomb is rejected', () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `  l${level + 1}: &l${level + 1} [${`*l${level},`.repeat(9)}]`,
    );
    expect(mistakes(`hosts:\n  l0: &l0 [x]\n${levels.join('\n')}\n`)[0]).toContain(
      'inventory.yaml: nested aliases (*NAME) expand to too much data\nexpected: at most 50000 aliases',
    );
  });

  test('one machine under two names is a mistake', () => {
    const text =
      'defaults: { pool: p }\nhosts:\n  a: { address: gpu.lab }\n  b: { address: GPU.lab, port: 22 }\n';
    expect(mistakes(text)).toEqual([
      'inventory.yaml:6:17: a and b have the same address gpu.lab:22\nexpected: one host for each machine: a machine runs one manager\nnext: remove one of the hosts; for two pools on one host set `pool` in its `agents:` list',
    ]);
    expect(fleet(text.replace('port: 22', 'jump: edge')).hosts).toHaveLength(2);
  });
});

test('a service principal', () => {
  const text =
    'organization: https://tfs.lab.example/tfs/DefaultCollection/\nservicePrincipal: { clientId: c, tenantId: t, secret: { file: secret }, expires: 2027-05-01, authority: https://login.example/ }\nhosts: { a: { pool: p } }\n';
  writeFileSync(path.join(folder, 'i.yaml'), text);
  const { organization, credential, file } = loadFleet('i.yaml', { env: {}, cwd: folder, home: '/home/me' });
  expect({ organization, credential, file }).toEqual({
    organization: 'https://tfs.lab.example/tfs/DefaultCollection',
    credential: {
      kind: 'service-principal',
      clientId: 'c',
      tenantId: 't',
      secret: { file: path.join(folder, 'secret') },
      authority: 'https://login.example',
      expires: '2027-05-01',
    },
    file: path.join(folder, 'i.yaml'),
  });
});

test('a missing file is reported as such', () => {
  const load = () => loadFleet('nowhere.yaml', { env: {}, cwd: folder, home: '/home/me' });
  expect(load).toThrow(FleetError);
  try {
    load();
  } catch (error) {
    expect((error as FleetError).problem).toMatchObject({
      code: 'inventory.unreadable',
      what: 'there is no inventory nowhere.yaml',
    });
    expect((error as FleetError).exitCode).toBe(2);
  }
});

test.each([
  ['a program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0x1b, 0x5b, 0x48])],
  ['text of another encoding', Buffer.from('organization: \u00e9\n', 'latin1')],
  ['UTF-16', Buffer.from('organization: x\n', 'utf16le')],
])('%s is rejected without being shown', (_, bytes) => {
  writeFileSync(path.join(folder, 'binary'), bytes);
  expect(() => loadFleet('binary', { env: {}, cwd: folder, home: '/home/me' })).toThrow(
    expect.objectContaining({
      exitCode: 2,
      problem: {
        code: 'inventory.unreadable',
        step: 'inventory',
        what: 'binary is not a text file',
        expected: 'YAML in UTF-8',
        next: 'save it as UTF-8, or pass the inventory with -i FILE',
      },
    }),
  );
});

test('5,000 hosts that share one anchor', () => {
  const hosts = Array.from(
    { length: 5000 },
    (_, index) => `  h${index}: { <<: *box, address: 10.0.${index >> 8}.${index & 255}, driver: *driver }`,
  );
  const text = `defaults: { pool: p }\nhosts:\n  first: &box { gpus: 8, driver: &driver { branch: '580' } }\n`;
  const loaded = fleet(`${text}${hosts.join('\n')}\n`);
  expect(loaded.hosts).toHaveLength(5001);
  expect(loaded.hosts[5000]).toMatchObject({ name: 'h4999', gpus: 8, driver: { branch: '580' } });
  const [mistake = ''] = mistakes(
    `${text}${hosts.join('\n')}, nonsense: 1 }\n`.replace(' }, nonsense', ', nonsense'),
  );
  expect(mistake).toContain('hosts.h4999.nonsense');
});

test('a thousand hosts', () => {
  const hosts = Array.from(
    { length: 1000 },
    (_, index) => `  h${index}: { address: 10.0.${index >> 8}.${index & 255}, gpus: 8 }`,
  );
  const loaded = fleet(
    `defaults: { pool: p }\ngroups: { some: { hosts: [h1, h999] } }\nhosts:\n${hosts.join('\n')}\n`,
  );
  expect(loaded.hosts).toHaveLength(1000);
  expect(loaded.hosts[999]).toMatchObject({ name: 'h999', groups: ['some'], gpus: 8 });
});
