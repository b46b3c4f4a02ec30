import { expect } from 'vitest';

import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../../support/host.ts';
import { artifacts, converged, status, defaults } from './converged.ts';

const restart = 'restart the manager (jobs keep running) and wait for it [nothing]';
const gpuByHook = merge(converged(), {
  docker: { active: true, cgroupDriver: 'systemd', serverVersion: '24.0.9' },
  driver: { loaded: '580.95.05' },
  toolkit: { version: '1.20.0' },
});
const otherUnit = { [HostPaths.unit]: sha256('old') };

const knownPassword = sha256('machine:registries');
const withRegistry: Desired = {
  ...defaults,
  registries: { names: ['registry.lab'], digest: () => knownPassword },
};

const knownAddress = sha256('machine:webhook');
const withWebhook: Desired = {
  ...defaults,
  host: { ...defaults.host, webhook: { url: { env: 'HOOK' }, offlineS: 600, queueWaitS: 1800 } },
  webhookDigest: () => knownAddress,
};

/** Cases: name, facts, desired state, lines of the plan. */
export const managerCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'a host without a manager',
    factsOf({ driver: driven }),
    defaults,
    [
      'upload the build context of agent image 4.260.0 [nothing]',
      expect.stringMatching(/^install the manager 0\.2\.0 \([0-9a-f]{12}\) with Node 24\.21\.0 \[nothing\]$/),
      "write the manager's configuration [nothing]",
      'store the credential (root only) [nothing]',
      'install the unit azp-fleet-manager.service [nothing]',
      'start the manager and wait for it [nothing]',
    ],
  ],
  ['a host that is up to date', converged(), defaults, []],
  [
    'a manager that is more than one release newer',
    merge(converged(), { manager: { release: { version: '0.4.0', protocol: 9 } } }),
    defaults,
    [
      'refused: the manager on h200-1 is 0.4.0, this azp-fleet is 0.2.0: they are more than one release apart',
    ],
  ],
  [
    'a manager of the next release',
    merge(converged(), { manager: { release: { version: '0.3.0', protocol: 3 } } }),
    defaults,
    [],
  ],
  [
    'another setting in the inventory',
    converged(),
    { ...defaults, host: desiredOf({ share: true }).host },
    ["write the manager's configuration [nothing]", restart],
  ],
  [
    'another token',
    merge(converged(), { manager: { credentialDigest: sha256('other') } }),
    defaults,
    ['store the credential (root only) [nothing]', restart],
  ],
  [
    'a registry with a password that the host lacks',
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
    defaults,
    ['remove the passwords of registries [nothing]', restart],
  ],
  [
    'a webhook that the host lacks',
    converged(),
    withWebhook,
    [
      "write the manager's configuration [nothing]",
      'store the address of the webhook (root only) [nothing]',
      restart,
    ],
  ],
  [
    'another address of the webhook',
    merge(converged(withWebhook), { manager: { webhookDigest: sha256('other') } }),
    withWebhook,
    ['store the address of the webhook (root only) [nothing]', restart],
  ],
  ['the webhook that the host has', converged(withWebhook), withWebhook, []],
  [
    'a webhook address that was not read',
    merge(converged(withWebhook), { manager: { webhookDigest: undefined } }),
    { ...withWebhook, webhookDigest: undefined },
    [],
  ],
  [
    'no webhook any more',
    converged(withWebhook),
    defaults,
    ["write the manager's configuration [nothing]", 'remove the address of the webhook [nothing]', restart],
  ],
  [
    'a new version of the manager',
    converged(),
    { ...defaults, artifacts: artifacts('newer bundle') },
    [
      'upload the build context of agent image 4.260.0 [nothing]',
      expect.stringContaining('install the manager'),
      restart,
    ],
  ],
  [
    'another unit if systemd would remove the GPUs of running containers',
    merge(gpuByHook, { files: { ...gpuByHook.files, ...otherUnit } }),
    defaults,
    [
      'install the unit azp-fleet-manager.service [nothing]',
      'restart the manager (jobs keep running) and wait for it [containers]',
    ],
  ],
  [
    'a stopped manager',
    merge(converged(), { manager: { unitActive: 'failed' } }),
    defaults,
    ['start the manager and wait for it [nothing]'],
  ],
  [
    'an image that is still being built',
    merge(converged(), { manager: { status: status(defaults, 'building') } }),
    defaults,
    ['wait for the agent image [nothing]'],
  ],
  [
    'a manager directly after a boot',
    merge(converged(), { manager: { status: undefined } }),
    defaults,
    ['wait for the agent image [nothing]'],
  ],
  [
    'an image that could not be built',
    merge(converged(), { manager: { status: status(defaults, 'failed') } }),
    defaults,
    [restart],
  ],
  [
    'a manager that runs with the previous configuration',
    merge(converged(), { manager: { status: { ...status(defaults), configHash: 'before' } } }),
    defaults,
    [restart],
  ],
  [
    'a unit that systemd has not loaded',
    merge(converged(), { manager: { reloadNeeded: true } }),
    defaults,
    [restart],
  ],
  [
    'agents that a killed run drained, and a user, too',
    merge(converged(), {
      manager: {
        status: {
          ...status(defaults),
          drained: true,
          drains: [
            { reason: 'new fan', at: '2026-11-21T12:00:00Z', owner: 'bob@laptop' },
            { reason: 'restart', at: '2026-11-21T12:03:00Z', owner: 'ann@laptop', run: 'run-0' },
          ],
        },
      },
    }),
    defaults,
    ['enable the agents again [nothing]'],
  ],
  [
    'an unused credential and partial upload',
    merge(converged(), {
      manager: { leftovers: ['/etc/azp-fleet/token.next', '/etc/azp-fleet/manager.json.0123.part'] },
    }),
    defaults,
    ['remove partial uploads of an interrupted run: token.next, manager.json.0123.part [nothing]'],
  ],
  [
    'a partial upload that this run continues',
    merge(converged(), {
      manager: {
        credentialDigest: sha256('other'),
        leftovers: ['/etc/azp-fleet/token.next', '/etc/azp-fleet/token.next.0123.part'],
      },
    }),
    defaults,
    ['store the credential (root only) [nothing]', restart],
  ],
  [
    'an architecture without agents',
    factsOf({ arch: 'ppc64le' }),
    defaults,
    ['refused: no Azure Pipelines agent exists for ppc64le'],
  ],
];
