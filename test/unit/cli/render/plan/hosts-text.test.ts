import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { defined } from '../../../../../src/shared/base/objects.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { siteCaFile, sourceFile } from '../../../../../src/fleet/packages/apt/source.ts';
import { planHost } from '../../../../../src/fleet/plan/plan.ts';
import { allSteps } from '../../../../../src/fleet/steps/all.ts';
import { dockerStep } from '../../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../../src/fleet/steps/driver/step.ts';
import { imageStep } from '../../../../../src/fleet/steps/image.ts';
import { managerStep } from '../../../../../src/fleet/steps/manager/step.ts';
import { managerUnitFor } from '../../../../../src/fleet/steps/manager/files.ts';
import type { Step } from '../../../../../src/fleet/steps/step.ts';
import { factsOf, merge } from '../../../../support/host.ts';
import { afterwards } from '../../../fleet/steps/host-stack-plan.ts';
import { artifacts } from '../../../fleet/steps/manager/converged.ts';
import { configured, count, planOn80, runningWith, textOn80, desiredWith } from './manager-plans.ts';

const pem = (name: string) =>
  readFileSync(join(import.meta.dirname, `../../../../fixtures/${name}.pem`), 'utf8');

/** Returns the facts with these files on the host. */
function withTexts(facts: Facts, texts: Readonly<Record<string, string>>): Facts {
  const digests = Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, sha256(text)]));
  return merge(facts, { files: { ...facts.files, ...digests }, texts: { ...facts.texts, ...texts } });
}

/** Returns facts of a host whose driver, engine, toolkit and manager are up to date. */
function complete(then = desiredWith(count(2))): Facts {
  const stack = afterwards(factsOf(), then);
  const health = {
    state: 'healthy',
    findings: [],
    cudaVersion: '13.0',
    gpus: [{ uuid: 'GPU-0', name: 'NVIDIA H200', computeCapability: '9.0' }],
  } as const;
  const { files, texts, manager, gpus } = runningWith(then, 2, { health });
  return { ...stack, gpus, files: { ...stack.files, ...files }, texts, manager };
}

const only = (step: Step): Step => ({ ...step, plan: (facts, desired) => [...step.plan(facts, desired)] });

test('the plan of a new host shows the rights of jobs and the new agents', () => {
  expect(planOn80(factsOf(), desiredWith({ jobs: { sudo: false, docker: true } }))).toMatch(
    /^h200-1: 4 changes\n  \+ manager  install the manager 0\.2\.0 \(.*\) with Node 24\.21\.0\n/,
  );
  expect(planOn80(factsOf(), desiredWith({ jobs: { sudo: false, docker: true } }))).toContain(`
  + manager  write the manager's configuration
             manager.json is missing
             + jobs.docker: true
                 jobs may use Docker's socket: root on this host
             + memory of each agent: 58.5 GiB of 62.5 GiB
             + registers h200-1-0 in pool gpu-lab
  + manager  install the unit azp-fleet-manager.service
             not installed
  + manager  start the manager and wait for it
             its files have changed

Changes: 4 on 1 host.
`);
});

test('an older manager on an older Node is a downgrade', () => {
  const newer = desiredWith({}, { artifacts: artifacts('newer') });
  const text = planOn80(runningWith(newer, 4, { version: '0.3.0', node: '24.22.1' }), desiredWith());
  expect(text.replaceAll(/[0-9a-f]{12}/g, 'VERSION')).toBe(`h200-1: 2 changes
  ~ manager  downgrade to the manager 0.2.0 (VERSION) with Node 24.21.0
             installed: /opt/azp-fleet/versions/VERSION
             ~ manager: 0.3.0 → 0.2.0
                 a downgrade
             ~ Node: 24.22.1 → 24.21.0
                 a downgrade
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 2 on 1 host.
`);
});

test('another certificate authority is named', () => {
  const [one, two] = [pem('site-ca-1'), pem('site-ca-2')];
  const site = (caPem: string) => desiredWith(count(1), { proxy: { noProxy: [], caPem } });
  const facts = withTexts(runningWith(site(one)), { [HostPaths.caBundle]: one, [siteCaFile]: one });
  const first: Step = { name: 'driver', plan: (...given) => [...driverStep.plan(...given)].slice(0, 1) };
  expect(planOn80(facts, site(two), first)).toBe(`h200-1: 1 change
  ~ driver   trust the site's certificate authority
             /usr/local/share/ca-certificates/azp-fleet-site.crt differs
             ~ certificate authority: Lab CA 1 until 2036-11-19 → Lab CA 2 until
               2036-11-19

Changes: 1 on 1 host.
`);
  expect(planOn80(facts, site(two)).replaceAll(/sha256 [0-9a-f]{12}/g, 'sha256 123456789abc'))
    .toBe(`h200-1: 2 changes
  ~ manager  write the manager's configuration
             differs from the inventory
             ~ certificate authority: Lab CA 1 until 2036-11-19 → Lab CA 2 until
               2036-11-19
             ~ proxy.ca: certificates with sha256 123456789abc → certificates
               with sha256 123456789abc
             ~ slot 0 restarts
                 running jobs finish first
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 2 on 1 host.
`);
});

test('another unit is described setting by setting', () => {
  const { text } = managerUnitFor(
    artifacts().unit.replace('Restart=always', 'Restart=no\nCPUWeight=10'),
    252,
  );
  const facts = withTexts(runningWith(desiredWith()), { [HostPaths.unit]: text });
  expect(planOn80(facts, desiredWith())).toBe(`h200-1: 2 changes
  ~ manager  install the unit azp-fleet-manager.service
             /etc/systemd/system/azp-fleet-manager.service differs
             ~ Service.Restart: no → always
             - Service.CPUWeight: 10
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 2 on 1 host.
`);
});

test('another mirror is described by its address', () => {
  const facts = complete();
  const path = sourceFile('docker');
  const seen = withTexts(facts, { [path]: 'Types: deb\nURIs: https://ann:s3cret@old.lab/docker\n' });
  expect(planOn80(seen, desiredWith(count(2)), only(dockerStep))).toBe(`h200-1: 1 change
  ~ docker   change Docker package repository
             /etc/apt/sources.list.d/azp-fleet-docker.sources differs
             ~ URIs: https://***@old.lab/docker →
               https://download.docker.com/linux/debian
             + Suites: bookworm
             + Components: stable
             + Architectures: amd64
             + Signed-By: /etc/apt/keyrings/azp-fleet-docker.asc

Changes: 1 on 1 host.
`);
});

test("the engine's configuration is described key by key, and by --diff line by line", () => {
  const own = '{\n    "http-proxy": "http://ann:s3cret@old.lab",\n    "log-opts": { "max-size": "9m" }\n}\n';
  const facts = merge(complete(), { docker: { daemonJson: own } });
  expect(planOn80(facts, desiredWith(count(2)), only(dockerStep), true)).toBe(`h200-1: 1 change
  ~ docker   configure Docker Engine: log-opts, live-restore
             daemon.json lacks them
             + log-opts.max-file: 3
             + live-restore: true
             no container can start for a moment; running jobs continue
             │ /etc/docker/daemon.json
             │ @@ -1,4 +1,8 @@
             │  {
             │      "http-proxy": "http://***@old.lab",
             │ -    "log-opts": { "max-size": "9m" }
             │ +    "log-opts": {
             │ +        "max-size": "9m",
             │ +        "max-file": "3"
             │ +    },
             │ +    "live-restore": true
             │  }

Changes: 1 on 1 host.
`);
});

test('another driver branch announces the drain and the new image', () => {
  const next = desiredWith({ ...count(2), driver: { branch: '595' } });
  const both: Step = {
    name: 'driver',
    plan: (...given) => [driverStep, managerStep].flatMap((step) => [...step.plan(...given)]),
  };
  expect(planOn80(complete(), next, both)).toContain(`
  ! driver   reboot the host
             the loaded module 580.95.05 holds the GPUs
             interrupts the whole machine; drains agents first
  ? manager  wait for the agent image
             known after "driver"; at most this
             ~ base of the image: nvidia/cuda:13.0.3-base-ubuntu24.04 →
               nvidia/cuda:13.2.1-base-ubuntu24.04
                 the image is rebuilt; all slots move to it, running jobs finish
                 first

Changes: 3 on 1 host, 1 host to be rebooted.
`);
});

test('hosts whose agents differ only by the host name are grouped, unless scripts are shown', () => {
  const one = { ...desiredWith(count(1)), host: { ...desiredWith(count(1)).host, name: 'gpu-1' } };
  const plans = ['gpu-1', 'gpu-2'].map((name) => {
    const then = { ...one, host: { ...one.host, name } };
    const now = { ...then, host: { ...then.host, agents: { kind: 'count' as const, count: 2 } } };
    return planHost(runningWith(then), now, { steps: allSteps.slice(-1), disturbOthers: false });
  });
  expect(textOn80(plans)).toBe(`2 hosts: the same 2 changes (gpu-1, gpu-2)
  ~ manager  write the manager's configuration
             differs from the inventory
             ~ agents: 1 → 2
             ~ GPUs of each agent: 0-3 → 0-1, 2-3
             ~ memory of each agent: 58.5 GiB → 29.25 GiB of 62.5 GiB
             + registers {host}-1 in pool gpu-lab
             ~ slot 0 restarts
                 running jobs finish first
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 4 on 2 hosts.
`);
  expect(textOn80(plans, true)).toContain('gpu-2: 2 changes');
});

test('a configuration with keys of another release, and an invalid one', () => {
  const slot = {
    state: 'idle',
    gpus: [],
    since: '',
    jobsRun: 0,
    pool: 'gpu-lab',
    slot: '0',
  } as const;
  const facts = runningWith(desiredWith(count(1)), 4, { slots: [{ ...slot, agent: 'h200-1-0' }] });
  const text = facts.texts[HostPaths.config] ?? '';
  const strange = text.replace('"share": false', '"share": "turns", "tenants": { "token": "s3cret" }');
  expect(planOn80(withTexts(facts, { [HostPaths.config]: strange }), desiredWith(count(1)))).toBe(
    configured(`             ~ share: unknown to this release → false
             - tenants: unknown to this release`),
  );
  const speaking = runningWith(desiredWith(count(1)), 4, { slots: [{ ...slot, agent: 'l40s-1-2' }] });
  expect(planOn80(withTexts(speaking, { [HostPaths.config]: 'nonsense' }), desiredWith(count(1)))).toBe(
    configured(`             + registers h200-1-0 in pool gpu-lab
             - removes l40s-1-2 from pool gpu-lab
                 running jobs finish first`).replace(
      'inventory',
      'inventory; the present manager.json is not a\n             configuration',
    ),
  );
});

test.each<[string, Facts['manager'], string]>([
  [
    'another credential',
    { ...runningWith(desiredWith()).manager, credentialDigest: sha256('before') },
    `  ~ manager  store the credential (root only)
             the host has another one`,
  ],
  [
    'passwords of unused registries',
    { ...runningWith(desiredWith()).manager, registriesDigest: sha256('before') },
    `  - manager  remove the passwords of registries
             the inventory has none`,
  ],
  [
    'the address of a removed webhook',
    { ...runningWith(desiredWith()).manager, webhookDigest: sha256('before') },
    `  - manager  remove the address of the webhook
             the inventory has none`,
  ],
])('%s', (_, manager, lines) => {
  const desired = desiredWith({}, { credentialDigest: () => sha256('now') });
  const facts = {
    ...runningWith(desiredWith()),
    manager: { credentialDigest: sha256('now'), ...defined(manager) },
  };
  expect(planOn80(facts as Facts, desired)).toBe(`h200-1: 2 changes
${lines}
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 2 on 1 host.
`);
});

test('a changed team folder', () => {
  const desired = desiredWith({ dockerfile: { folder: '/lab/vision' } });
  const facts = merge(runningWith(desired), { manager: { folders: ['0'.repeat(64)] } });
  expect(planOn80(facts, desired, only(imageStep))).toBe(`h200-1: 1 change
  ~ image    build the image of vision on top of agent image 4.260.0
             the folder has changed (3 files, 4 KiB); one agent first, the
             others once it works; running jobs finish first

Changes: 1 on 1 host.
`);
});
