import { describe, expect, it } from 'vitest';

import { sha256 } from '../../../src/base/digest.ts';
import { HostPaths } from '../../../src/contract/paths.ts';
import type { Facts } from '../../../src/facts/facts.ts';
import type { Change } from '../../../src/steps/change.ts';
import { imageStep } from '../../../src/steps/image.ts';
import { managerConfig } from '../../../src/steps/manager-config.ts';
import { activateScript } from '../../../src/steps/manager-scripts.ts';
import { managerVersion } from '../../../src/steps/manager-version.ts';
import { managerStep } from '../../../src/steps/manager.ts';
import { managerUnitFor } from '../../../src/steps/manager/unit.ts';
import type { Desired } from '../../../src/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../support/host.ts';
import { artifacts, converged, status, text, unit, wanted } from './manager/converged.ts';

function plan(facts: Facts, desired: Desired = wanted): string[] {
  return [imageStep, managerStep]
    .flatMap((step) => [...step.plan(facts, desired)])
    .map((item) => ('refused' in item ? `refused: ${item.what}` : `${item.title} [${item.disturbs}]`));
}

const restart = 'restart the manager (jobs go on) and wait for it [nothing]';
const gpuByHook = merge(converged(), {
  docker: { active: true, cgroupDriver: 'systemd', serverVersion: '24.0.9' },
  driver: { loaded: '580.95.05' },
  toolkit: { version: '1.20.0' },
});
const otherUnit = { [HostPaths.unit]: sha256('old') };

const knownPassword = sha256('machine:registries');
const withRegistry: Desired = {
  ...wanted,
  registries: { names: ['registry.lab'], digest: () => knownPassword },
};

const cases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'a host without a manager',
    factsOf(),
    wanted,
    [
      'bring the build context of agent image 4.260.0 [nothing]',
      expect.stringMatching(/^install the manager 0\.1\.0 \([0-9a-f]{12}\) with Node 24\.21\.0 \[nothing\]$/),
      "write the manager's configuration [nothing]",
      'store the credential (root only) [nothing]',
      'install the unit azp-fleet-manager.service [nothing]',
      'start the manager and wait for it [nothing]',
    ],
  ],
  ['a host that is as wanted', converged(), wanted, []],
  [
    'a manager that is more than one release newer',
    merge(converged(), { manager: { release: { version: '0.4.0', protocol: 9 } } }),
    wanted,
    [
      'refused: the manager on h200-1 is 0.4.0, this azp-fleet is 0.1.0: they are more than one release apart',
    ],
  ],
  [
    'one of the release after ours',
    merge(converged(), { manager: { release: { version: '0.2.0', protocol: 3 } } }),
    wanted,
    [],
  ],
  [
    'another setting in the inventory',
    converged(),
    { ...wanted, host: desiredOf({ share: true }).host },
    ["write the manager's configuration [nothing]", restart],
  ],
  [
    'another token',
    merge(converged(), { manager: { credentialDigest: sha256('other') } }),
    wanted,
    ['store the credential (root only) [nothing]', restart],
  ],
  [
    'a registry with a password that the host does not know',
    converged(),
    withRegistry,
    ['store the passwords of registries (root only): registry.lab [nothing]', restart],
  ],
  [
    'another password for a registry',
    merge(converged(), { manager: { registriesDigest: sha256('other') } }),
    withRegistry,
    ['store the passwords of registries (root only): registry.lab [nothing]', restart],
  ],
  [
    'the password that the host has',
    merge(converged(), { manager: { registriesDigest: knownPassword } }),
    withRegistry,
    [],
  ],
  [
    'no registry any more',
    merge(converged(), { manager: { registriesDigest: knownPassword } }),
    wanted,
    ['remove the passwords of registries [nothing]', restart],
  ],
  [
    'a new version of the manager',
    converged(),
    { ...wanted, artifacts: artifacts('newer bundle') },
    [
      'bring the build context of agent image 4.260.0 [nothing]',
      expect.stringContaining('install the manager'),
      restart,
    ],
  ],
  [
    'another unit where systemd would take the GPUs from running containers',
    merge(gpuByHook, { files: { ...gpuByHook.files, ...otherUnit } }),
    wanted,
    [
      'install the unit azp-fleet-manager.service [nothing]',
      'restart the manager (jobs go on) and wait for it [containers]',
    ],
  ],
  [
    'a dead manager',
    merge(converged(), { manager: { unitActive: 'failed' } }),
    wanted,
    ['start the manager and wait for it [nothing]'],
  ],
  [
    'an image that is still being built',
    merge(converged(), { manager: { status: status(wanted, 'building') } }),
    wanted,
    ['wait for the agent image [nothing]'],
  ],
  [
    'a manager that has just been started by a boot',
    merge(converged(), { manager: { status: undefined } }),
    wanted,
    ['wait for the agent image [nothing]'],
  ],
  [
    'an image that could not be built',
    merge(converged(), { manager: { status: status(wanted, 'failed') } }),
    wanted,
    [restart],
  ],
  [
    'a manager that still runs with the configuration before',
    merge(converged(), { manager: { status: { ...status(wanted), configHash: 'before' } } }),
    wanted,
    [restart],
  ],
  [
    'an architecture without agents',
    factsOf({ arch: 'ppc64le' }),
    wanted,
    ['refused: there is no Azure Pipelines agent for ppc64le'],
  ],
];

describe('the image and manager steps', () => {
  it.each(cases)('%s', (_name, facts, desired, expected) => {
    expect(plan(facts, desired)).toEqual(expected);
  });

  it('use no LoadCredential where systemd has none', () => {
    expect(managerUnitFor(unit, 245).text).not.toContain('LoadCredential');
    expect(managerUnitFor(unit, 247).text).toContain('LoadCredential=token:/etc/azp-fleet/token\n');
    expect(plan(converged(wanted, factsOf({ systemd: 245 })), wanted)).toEqual([]);
  });

  it('tell the manager where a service principal logs in', () => {
    const principal = { kind: 'service-principal', clientId: 'c', tenantId: 't' } as const;
    const source = { ...principal, secret: { env: 'SECRET' }, expires: '2027-05-01' };
    const config = (authority: object) =>
      managerConfig({ ...wanted, credential: { ...source, ...authority } }, 'x64').credential;
    expect(config({})).toEqual(principal);
    expect(config({ authority: 'https://login.example' })).toEqual({
      ...principal,
      authority: 'https://login.example',
    });
  });

  it('change with the certificates of the site, so that agents that wait are replaced', () => {
    const site = (caPem?: string) =>
      managerConfig({ ...wanted, proxy: { noProxy: [], ...(caPem !== undefined && { caPem }) } }, 'x64')
        .proxy;
    expect(site('PEM')).toEqual({ noProxy: [], ca: true, caSha256: sha256('PEM') });
    expect(site()).toEqual({ noProxy: [], ca: false });
  });

  it('never carry the credential in the plan', () => {
    const secret = desiredOf({}, { ...wanted, credentialDigest: () => sha256('machine:s3cret-token') });
    expect(JSON.stringify([...managerStep.plan(factsOf(), secret)])).not.toContain('s3cret-token');
  });

  it('put a new credential in place at the moment of the restart, not before', () => {
    const changes = [...managerStep.plan(factsOf(), wanted)] as Change[];
    const [stored] = changes.find(({ id }) => id.startsWith('manager-credential'))?.actions ?? [];
    expect(stored).toEqual({ kind: 'credential', path: '/etc/azp-fleet/token.next' });
    const [start] = changes.at(-1)?.actions ?? [];
    expect(start?.kind === 'run' && start.script).toContain(
      'mv -f /etc/azp-fleet/token.next /etc/azp-fleet/token',
    );
  });
});

describe('the scripts of the manager step', () => {
  const version = managerVersion(wanted, text('node'));
  const scripts = [
    activateScript({ version, reload: true, token: '/etc/azp-fleet/token.next' }),
    activateScript({ version, reload: false, token: undefined }),
  ];

  it('reload systemd only when it is asked for', () => {
    expect(scripts.map((script) => script.includes('systemctl daemon-reload'))).toEqual([true, false]);
  });
});

it('an agent whose digest is not known is announced with what the host makes of it', () => {
  const agent = (version: string) => ({ agent: { version, sha256: { x64: undefined, arm64: undefined } } });
  const why = (version: string): string | undefined =>
    [...managerStep.plan(factsOf(), desiredOf(agent(version), { artifacts: artifacts() }))]
      .filter((each): each is Change => 'actions' in each)
      .find(({ id }) => id.startsWith('manager-configuration'))?.why;
  expect(why('5.300.0')).toBe(
    'there is none; the digest of agent 5.300.0 is not known: the host holds it to the archive that comes first, over https',
  );
  expect(why('4.275.0')).toBe('there is none');
});
