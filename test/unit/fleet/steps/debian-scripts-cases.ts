import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../src/fleet/steps/driver/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { systems, type SystemName } from '../../../support/apt-world/systems.ts';
import type { ScriptsCase } from './exact-scripts.ts';
import { afterwards } from './host-stack-plan.ts';

const wanted = desiredOf();
/** Nobody asked for a version. */
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

/** The same host with another driver, of the same packages. */
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
const fresh: ScriptsCase = { what: 'Debian 13, fresh', facts: debian, wish: wanted };
const noble = bareOf('Ubuntu 24.04');
const freshNoble: ScriptsCase = {
  what: 'Ubuntu 24.04, fresh',
  facts: noble,
  wish: wanted,
  steps: [driverStep],
};

export const scriptsCases: readonly ScriptsCase[] = [
  fresh,
  ...withHistory('Debian 13', debian, fresh),
  { what: 'Debian 12, fresh', facts: bareOf('Debian 12'), wish: wanted, like: fresh },
  { what: 'Debian 13 on aarch64, fresh', facts: bareOf('Debian 13', 'aarch64'), wish: wanted, like: fresh },
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

/** A host that has been through something. */
function withHistory(name: string, bare: Facts, like: ScriptsCase): ScriptsCase[] {
  const ready = afterwards(bare, wanted);
  const module = Object.keys(ready.packages).find((each) => /dkms/.test(each)) ?? '';
  const { [module]: _, ...half } = ready.packages;
  const newer = withDriver(ready, '595.71.05');
  return [
    { what: `${name}, current`, facts: ready, wish: wanted },
    { what: `${name}, older`, facts: withDriver(ready, '570.86.10'), wish: wanted },
    { what: `${name}, newer, and 580 is asked for`, facts: newer, wish: wanted },
    { what: `${name}, newer, and nobody asked for less`, facts: newer, wish: least },
    {
      what: `${name}, held by its owner`,
      facts: merge(bare, { packages: { runc: '1.1.15-1' }, held: ['runc'] }),
      wish: wanted,
      steps: [dockerStep],
    },
    {
      what: `${name}, conflicting`,
      facts: merge(bare, {
        packages: { 'docker.io': '26.1.5-1', 'docker-buildx': '0.13.1-1', runc: '1.1.15-1' },
      }),
      wish: wanted,
      steps: [dockerStep],
    },
    {
      what: `${name}, half-installed`,
      facts: { ...ready, packages: half, driver: { ...ready.driver, loaded: undefined, open: undefined } },
      wish: wanted,
    },
    {
      what: `${name}, desktop`,
      facts: merge(withDriver(ready, '570.86.10'), { packages: { gdm3: '48.0-2' } }),
      wish: wanted,
      steps: [driverStep],
    },
    {
      what: `${name}, display card`,
      facts: merge(bare, {
        driver: { nouveau: true },
        ignoredGpus: [{ address: '0000:02:00.0', deviceId: '128b', boundTo: 'nouveau' }],
      }),
      wish: wanted,
      ...(like.steps === undefined ? {} : { steps: like.steps }),
      like,
    },
  ];
}
