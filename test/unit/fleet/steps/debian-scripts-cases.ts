import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../src/fleet/steps/driver/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { systems, type SystemName } from '../../../support/apt-world/systems.ts';
import type { ScriptsCase } from './exact-scripts.ts';
import { afterwards } from './host-stack-plan.ts';

const defaults = desiredOf();
/** Accepts installed versions that are newer. */
const least = desiredOf({
  driver: { orNewer: true },
  docker: { version: '29.7.2', orNewer: true },
  toolkit: { version: '1.20.0', orNewer: true },
});

/** A freshly installed system, without a compiler and without headers. */
function bareOf(on: SystemName, arch = 'x86_64'): Facts {
  const { os, kernel } = systems[on];
  return factsOf({
    os,
    arch,
    kernel,
    kernels: [{ release: kernel, headers: false, driver: false }],
    lacksToBuild: ['gcc', 'make'],
  });
}

/** Returns the host with another driver version in the same packages. */
const withDriver = (facts: Facts, version: string): Facts =>
  merge(facts, {
    driver: { loaded: version, userspace: version, open: true },
    packages: Object.fromEntries(
      Object.keys(facts.packages)
        .filter((name) => /nvidia-(?!container)|^libcuda|^libnvidia-ml/.test(name))
        .map((name) => [name, `${version}-1`]),
    ),
  });

const debian = bareOf('Debian 13');
const fresh: ScriptsCase = { what: 'Debian 13, fresh', facts: debian, desired: defaults };
const noble = bareOf('Ubuntu 24.04');
const freshNoble: ScriptsCase = {
  what: 'Ubuntu 24.04, fresh',
  facts: noble,
  desired: defaults,
  steps: [driverStep],
};

export const scriptsCases: readonly ScriptsCase[] = [
  fresh,
  ...withHistory('Debian 13', debian, fresh),
  { what: 'Debian 12, fresh', facts: bareOf('Debian 12'), desired: defaults, like: fresh },
  {
    what: 'Debian 13 on aarch64, fresh',
    facts: bareOf('Debian 13', 'aarch64'),
    desired: defaults,
    like: fresh,
  },
  freshNoble,
  ...withHistory('Ubuntu 24.04', noble, freshNoble),
  { ...freshNoble, what: 'Ubuntu 22.04, fresh', facts: bareOf('Ubuntu 22.04'), like: freshNoble },
  {
    ...freshNoble,
    what: 'Ubuntu 24.04 on aarch64, fresh',
    facts: bareOf('Ubuntu 24.04', 'aarch64'),
    like: freshNoble,
  },
  {
    ...freshNoble,
    what: 'Ubuntu 26.04, fresh',
    facts: merge(noble, { os: { versionId: '26.04', codename: 'resolute', pretty: 'Ubuntu 26.04 LTS' } }),
    like: freshNoble,
  },
];

/** Returns the cases of a host that was changed before. */
function withHistory(name: string, bare: Facts, like: ScriptsCase): ScriptsCase[] {
  const ready = afterwards(bare, defaults);
  const module = Object.keys(ready.packages).find((each) => /dkms/.test(each)) ?? '';
  const { [module]: _, ...half } = ready.packages;
  const newer = withDriver(ready, '595.71.05');
  return [
    { what: `${name}, current`, facts: ready, desired: defaults },
    { what: `${name}, older`, facts: withDriver(ready, '570.86.10'), desired: defaults },
    { what: `${name}, newer, and 580 is configured`, facts: newer, desired: defaults },
    { what: `${name}, newer, and newer versions are allowed`, facts: newer, desired: least },
    {
      what: `${name}, held by its owner`,
      facts: merge(bare, { packages: { runc: '1.1.15-1' }, held: ['runc'] }),
      desired: defaults,
      steps: [dockerStep],
    },
    {
      what: `${name}, conflicting`,
      facts: merge(bare, {
        packages: { 'docker.io': '26.1.5-1', 'docker-buildx': '0.13.1-1', runc: '1.1.15-1' },
      }),
      desired: defaults,
      steps: [dockerStep],
    },
    {
      what: `${name}, half-installed`,
      facts: { ...ready, packages: half, driver: { ...ready.driver, loaded: undefined, open: undefined } },
      desired: defaults,
    },
    {
      what: `${name}, desktop`,
      facts: merge(withDriver(ready, '570.86.10'), { packages: { gdm3: '48.0-2' } }),
      desired: defaults,
      steps: [driverStep],
    },
    {
      what: `${name}, display card`,
      facts: merge(bare, {
        driver: { nouveau: true },
        ignoredGpus: [{ address: '0000:02:00.0', deviceId: '128b', boundTo: 'nouveau' }],
      }),
      desired: defaults,
      ...(like.steps === undefined ? {} : { steps: like.steps }),
      like,
    },
  ];
}
