import { fabricSwitches } from '../../../../src/fleet/steps/driver/services.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { Facts, InstalledKernel } from '../../../../src/fleet/facts/facts.ts';
import { platformOf } from '../../../../src/fleet/packages/distribution.ts';
import { readRecord, recordLines } from '../../../../src/fleet/packages/package-record.ts';
import type { Vendor } from '../../../../src/fleet/packages/vendors.ts';
import type { DriverSpec } from '../../../../src/fleet/inventory/fleet.ts';
import type { Flavor } from '../../../../src/fleet/packages/names.ts';
import type { Change } from '../../../../src/fleet/steps/change.ts';
import { engineConfig } from '../../../../src/fleet/steps/docker/step.ts';
import {
  renderDaemonJson,
  usesCdi,
  withGpuSettings,
} from '../../../../src/fleet/steps/docker/daemon-json.ts';
import {
  dockerPackages,
  enginePackages,
  toolkitPackages,
} from '../../../../src/fleet/steps/packages/parts.ts';
import { fabricPackages } from '../../../../src/fleet/steps/driver/fabric.ts';
import { flavorFor } from '../../../../src/fleet/steps/driver/compatibility.ts';
import { rebootReason } from '../../../../src/fleet/steps/driver/installation.ts';
import { awaitsBoot, buildOf, runfileBuild } from '../../../../src/fleet/steps/driver/kernels.ts';
import { releaseOf } from '../../../../src/fleet/steps/driver/runfile-releases.ts';
import { usesOf } from '../../../../src/fleet/steps/driver/uses.ts';
import { withInstalledVersions } from '../../../../src/fleet/steps/vendor-stack.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { merge } from '../../../support/host.ts';

/** Returns the facts after a change. The lab tests the same with real scripts. */
export function simulate(facts: Facts, change: Change, desired: Desired): Facts {
  const effect = effects[change.id.replace(/-[0-9a-f]{10}$/, '')];
  if (effect === undefined) throw new Error(`no simulated effect for ${change.id}`);
  return effect(withRecord(facts, change), withInstalledVersions(facts, desired));
}

/** Adds the lines that the change's scripts write to the package record. */
function withRecord(facts: Facts, { actions }: Change): Facts {
  const noted = actions.flatMap((action) =>
    action.kind === 'run'
      ? [...(/^lacking=.*/m.exec(action.script)?.[0] ?? '').matchAll(/'(\w+ [^']+)'/g)]
      : [],
  );
  const known = facts.ours.packages === undefined ? [] : recordLines(facts.ours.packages);
  const lines = [...known, ...noted.map(([, line = '']) => line)];
  return merge(facts, { ours: { packages: readRecord(lines.join('\n')) } });
}

type Effect = (facts: Facts, desired: Desired) => Facts;

const effects: Readonly<Record<string, Effect>> = {
  'driver-site-ca': (facts, { proxy }) =>
    merge(facts, {
      files: { [platform(facts).packages.trust.file]: sha256(proxy.caPem ?? '') },
      siteCaTrusted: true,
      docker: { restartNeeded: facts.docker.active },
    }),
  'driver-source': (facts, desired) => withSource(facts, desired, 'nvidia'),
  'driver-install': (facts, desired) => {
    const { host } = desired;
    const flavor = flavorFor(facts, host.driver);
    const version = host.driver.version ?? `${host.driver.branch}.95.05`;
    const packages = [
      ...driverPackages(facts, host.driver, flavor),
      ...platform(facts).names.driver.extras(host.driver, usesOf(host)),
    ];
    const installed = withModules(
      withPackages(withBuild(facts, desired), packages, `${version}-1`),
      ({ headers }) => headers,
    );
    const loads = rebootReason(facts, host, platform(facts)) === undefined;
    return merge(installed, {
      driver: { userspace: version, ...(loads ? { loaded: version, open: flavor === 'open' } : {}) },
    });
  },
  'driver-runfile-fetch': (facts) => facts,
  'driver-runfile': (facts, desired) => {
    const { host, mirrors } = desired;
    const release = releaseOf(facts, host.driver, mirrors);
    if (!('version' in release)) throw new Error(release.what);
    const { version } = release;
    const exactly = { driver: { ...host.driver, version } };
    const loads = rebootReason(facts, exactly, platform(facts)) === undefined;
    const open = flavorFor(facts, host.driver) === 'open';
    const built = withModules(facts, ({ headers }) => headers);
    return merge(built, {
      driver: {
        runfile: true,
        dkms: 'registered',
        userspace: version,
        wasRemoved: false,
        ...(loads ? { loaded: version, open } : {}),
      },
      ours: { runfile: { version, graphics: usesOf(host).includes('graphics') } },
    });
  },
  'driver-dkms': (facts) => merge(facts, { driver: { dkms: 'registered' } }),
  'driver-reboot': (facts, { host }) =>
    merge(
      withServices(facts, ({ file }) => ({ file, active: file === 'enabled' ? 'active' : 'inactive' })),
      {
        bootId: 'f0f0f0f0-0000-4000-8000-000000000001',
        rebootRequired: false,
        kernels: facts.kernels.slice(-1),
        driver: {
          nouveau: false,
          loaded: facts.driver.userspace,
          open: flavorFor(facts, host.driver) === 'open',
        },
      },
    ),
  'driver-blacklist': (facts) => facts,
  'driver-fabric': (facts, desired) => {
    const installed = fabricPackages(facts, desired.host, platform(facts));
    const { packages, ...rest } = withPackages(facts, installed, `${facts.driver.loaded}-1`);
    const kept = Object.entries(packages).filter(
      ([name]) => !/^nvidia-fabric-?manager/.test(name) || installed.includes(name),
    );
    return { ...rest, packages: Object.fromEntries(kept) };
  },
  'driver-enable': (facts) => withServices(facts, ({ active }) => ({ file: 'enabled', active })),
  'driver-persistence': (facts) =>
    merge(facts, {
      driver: {
        services: facts.driver.services.map(({ unit, file, active, forgets }) =>
          forgets === true ? { unit, file: 'enabled', active: 'active' } : { unit, file, active },
        ),
      },
    }),
  'driver-services': (facts) => withServices(facts, () => ({ file: 'enabled', active: 'active' })),
  'driver-kernels': withBuild,
  'driver-module': (facts) => withModules(facts, ({ release }) => release !== facts.kernels[0]?.release),
  'driver-load': (facts) =>
    merge(
      withModules(facts, ({ release }) => release === facts.kernels[0]?.release),
      { driver: { loaded: facts.driver.userspace, open: true } },
    ),
  'driver-uses': (facts, { host }) =>
    withPackages(
      facts,
      platform(facts).names.driver.lacks(facts.packages, usesOf(host)),
      `${facts.driver.loaded}-1`,
    ),
  'driver-hold': (facts, { host }) => {
    const flavor = flavorFor(facts, host.driver);
    const extras = platform(facts).names.driver.extras(host.driver, usesOf(host));
    const names = [...driverPackages(facts, host.driver, flavor), ...extras];
    return withHolds(
      facts,
      names.filter((name) => facts.packages[name] !== undefined),
    );
  },
  // The package names depend on the package manager.
  'manager-libraries': (facts) => facts,
  'docker-source': (facts, desired) => withSource(facts, desired, 'docker'),
  'docker-configure': (facts, desired) =>
    merge(facts, {
      docker: {
        daemonJson: renderDaemonJson(engineConfig(facts, desired).to),
        ...(facts.docker.active ? { liveRestore: !facts.docker.swarm } : {}),
      },
    }),
  'docker-install': (facts, { host }) => {
    const { version } = host.docker;
    const { own, kept: ownEngine } = platform(facts).names.engine;
    if (ownEngine === true) {
      const installed = {
        active: true,
        enabled: true,
        serverVersion: '25.0.8',
        liveRestore: true,
        restartNeeded: false,
      };
      return merge(facts, { packages: { [own]: '25.0.8-1.amzn2023' }, docker: installed });
    }
    const engine = withPackages(facts, enginePackages, `5:${version}-1~debian.12~bookworm`);
    const rest = dockerPackages.filter((name) => !enginePackages.includes(name));
    const { packages, ...others } = withPackages(engine, rest, '1.7.27-1');
    const { conflicts } = platform(facts).names.engine;
    const kept = Object.entries(packages).filter(([name]) => !conflicts.includes(name));
    return merge(
      { ...others, packages: Object.fromEntries(kept) },
      {
        docker: {
          active: true,
          enabled: true,
          serverVersion: version,
          liveRestore: true,
          restartNeeded: false,
        },
      },
    );
  },
  'docker-complete': (facts) => {
    const absent = dockerPackages.filter((name) => facts.packages[name] === undefined);
    return withPackages(facts, absent, '1.0-1');
  },
  'docker-hold': (facts) => withHolds(facts, dockerPackages),
  'docker-start': (facts, { host }) =>
    merge(facts, {
      docker: { active: true, enabled: true, serverVersion: host.docker.version, liveRestore: true },
    }),
  'docker-restart': (facts, { host }) =>
    merge(facts, { docker: { serverVersion: host.docker.version, restartNeeded: false } }),
  'toolkit-source': (facts, desired) => withSource(facts, desired, 'nvidia-container-toolkit'),
  'toolkit-install': (facts, { host }) =>
    merge(withPackages(facts, toolkitPackages, `${host.toolkit.version}-1`), {
      toolkit: { version: host.toolkit.version, cdiOlder: facts.toolkit.cdiSpec },
      docker: { restartNeeded: facts.docker.active },
    }),
  'toolkit-hold': (facts) => withHolds(facts, toolkitPackages),
  'toolkit-configure-docker': (facts, desired) => {
    const to = withGpuSettings(engineConfig(facts, desired).to, desired.host.docker.version);
    return merge(facts, {
      docker: { daemonJson: renderDaemonJson(to), runtimes: ['nvidia', 'runc'], restartNeeded: false },
    });
  },
  'toolkit-restart-docker': (facts) => merge(facts, { docker: { restartNeeded: false } }),
  'toolkit-cdi': (facts, { host }) =>
    merge(facts, {
      toolkit: {
        cdiSpec: usesCdi(host.docker.version),
        cdiDriver: facts.driver.loaded,
        cdiUses: usesOf(host),
        cdiMigDiffers: false,
        ...(facts.toolkit.cdiInRun ? { cdiInEtc: [] } : {}),
        cdiOlder: false,
      },
    }),
};

function platform(facts: Facts) {
  const found = platformOf(facts);
  if (found === undefined) throw new Error('the simulator knows supported systems only');
  return found;
}

function driverPackages(facts: Facts, spec: DriverSpec, flavor: Flavor) {
  return platform(facts).names.driver.packages(spec, flavor, fabricSwitches(facts));
}

/** Installs the packages that build modules, without a hold. */
function withBuild(facts: Facts, { host }: Desired): Facts {
  const scope = awaitsBoot(facts, platform(facts)) ? 'next' : 'all';
  const { packages } =
    host.driver.method === 'runfile' && !facts.driver.runfile
      ? runfileBuild(facts, platform(facts), { uses: usesOf(host), scope, mirrors: {} })
      : buildOf(facts, platform(facts));
  return merge(facts, {
    packages: Object.fromEntries(packages.map((name) => [name, '1'])),
    kernels: facts.kernels.map((kernel) => ({
      ...kernel,
      headers: kernel.headers || packages.some((name) => name.endsWith(`-${kernel.release}`)),
    })),
    lacksToBuild: [],
  });
}

function withModules(facts: Facts, built: (kernel: InstalledKernel) => boolean): Facts {
  return merge(facts, {
    kernels: facts.kernels.map((kernel) => ({ ...kernel, driver: kernel.driver || built(kernel) })),
  });
}

type Service = Facts['driver']['services'][number];

function withServices(facts: Facts, change: (service: Service) => Omit<Service, 'unit'>): Facts {
  const services = facts.driver.services.map((service) => ({ unit: service.unit, ...change(service) }));
  return merge(facts, { driver: { services } });
}

function withSource(facts: Facts, desired: Desired, vendor: Vendor): Facts {
  const where = platform(facts);
  const { file, text, keyFile } = where.packages.source(vendor, where, desired);
  return merge(facts, { files: { [file]: sha256(text), [keyFile]: sha256('key') } });
}

function withPackages(facts: Facts, names: readonly string[], version: string): Facts {
  const installed = merge(facts, { packages: Object.fromEntries(names.map((name) => [name, version])) });
  return withHolds(installed, names);
}

function withHolds(facts: Facts, names: readonly string[]): Facts {
  return { ...facts, held: [...new Set([...facts.held, ...names])].sort() };
}
