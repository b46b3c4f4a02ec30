import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { desiredOf, merge } from '../../../support/host.ts';
import { bareOf, withDriver } from './enterprise-cases.ts';
import type { ScriptsCase } from './exact-scripts.ts';
import { afterwards } from './host-stack-plan.ts';

const defaults = desiredOf();
/** Accepts installed versions that are newer. */
const least = desiredOf({
  driver: { orNewer: true },
  docker: { version: '29.7.2', orNewer: true },
  toolkit: { version: '1.20.0', orNewer: true },
});
const rocky = bareOf('rocky', '9.5');
const fresh: ScriptsCase = { what: 'Rocky Linux 9, fresh', facts: rocky, desired: defaults };

export const scriptsCases: readonly ScriptsCase[] = [
  fresh,
  ...onRocky(rocky),
  ...[
    ['Rocky Linux 9 on aarch64', bareOf('rocky', '9.5', 'aarch64')] as const,
    ['Rocky Linux 8', bareOf('rocky', '8.10')] as const,
    ['Red Hat Enterprise Linux 8', bareOf('rhel', '8.10')] as const,
    ['Oracle Linux 9', bareOf('ol', '9.5')] as const,
    ['AlmaLinux 10', bareOf('almalinux', '10.0')] as const,
    ['Amazon Linux 2023', bareOf('amzn', '2023')] as const,
    ['Amazon Linux 2023, with its engine', withEngine(bareOf('amzn', '2023'))] as const,
  ].map(([name, facts]) => ({ what: `${name}, fresh`, facts, desired: defaults, like: fresh })),
];

/** Returns the cases of a host that was changed before. */
function onRocky(bare: Facts): ScriptsCase[] {
  const name = 'Rocky Linux 9';
  const ready = afterwards(bare, defaults);
  const { 'kmod-nvidia-open-dkms': _, ...half } = ready.packages;
  const newer = withDriver(ready, '595.71.05');
  return [
    { what: `${name}, current`, facts: ready, desired: defaults },
    { what: `${name}, older`, facts: withDriver(ready, '570.86.10'), desired: defaults },
    { what: `${name}, newer, and 580 is configured`, facts: newer, desired: defaults },
    { what: `${name}, newer, and newer versions are allowed`, facts: newer, desired: least },
    {
      what: `${name}, held by its owner`,
      facts: merge(bare, { packages: { runc: '4:1.2.4-2.el9' } }),
      desired: defaults,
      steps: [dockerStep],
      said: { 'docker-install': ['version 29.7.2', 'held runc '] },
    },
    {
      what: `${name}, conflicting`,
      facts: merge(bare, {
        packages: { runc: '4:1.2.4-2.el9', buildah: '2:1.39.4-1.el9', 'docker-ce': '3:29.6.1-1.el9' },
      }),
      desired: defaults,
      steps: [dockerStep],
      said: {
        'docker-install': [
          'version 29.7.2',
          'install containerd.io 1.7.29-1.el9',
          'remove runc 4:1.2.4-2.el9',
          'remove buildah 2:1.39.4-1.el9',
          'upgrade docker-ce 3:29.6.1-1.el9 3:29.7.2-1.el9',
          'space 18432 0',
        ],
      },
    },
    {
      what: `${name}, half-installed`,
      facts: { ...ready, packages: half, driver: { ...ready.driver, loaded: undefined, open: undefined } },
      desired: defaults,
    },
    {
      what: `${name}, desktop`,
      facts: merge(withDriver(ready, '570.86.10'), {
        packages: { gdm: '1:40.1-34.el9', 'nvidia-driver': '3:570.86.10-1.el9' },
      }),
      desired: defaults,
      said: { 'driver-install': ['version 580.95.05', 'remove nvidia-driver 3:570.86.10-1.el9'] },
    },
    {
      what: `${name}, display card`,
      facts: merge(bare, {
        driver: { nouveau: true },
        ignoredGpus: [{ address: '0000:02:00.0', deviceId: '128b', boundTo: 'nouveau' }],
      }),
      desired: defaults,
      like: fresh,
    },
  ];
}

function withEngine(facts: Facts): Facts {
  return merge(facts, {
    packages: { docker: '25.0.8-1.amzn2023', containerd: '1.7.27-1.amzn2023' },
    docker: { serverVersion: '25.0.8', active: true, enabled: true },
  });
}
