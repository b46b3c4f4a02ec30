import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Build, DriverUse } from '../../packages/names.ts';
import { hasModule } from '../../packages/kernel-module.ts';
import type { Platform } from '../../packages/distribution.ts';
import { type Change, runChange } from '../change.ts';
import { packageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';
import { isSigned } from './secure-boot.ts';

/**
 * Returns whether the driver can only be built for the next boot: a newer kernel waits for a reboot, and the running one lacks
 * its headers, which repositories seldom offer once there is a newer kernel.
 */
export function awaitsBoot(facts: Facts, platform: Platform): boolean {
  const { next } = platform.names.driver.build(facts, 'next');
  return facts.rebootRequired && next !== undefined && facts.kernels[0]?.headers === false;
}

/** Returns what is needed to build the driver. For a loaded driver only the next kernel matters. */
export function buildOf(facts: Facts, platform: Platform, mirrors: Desired['mirrors'] = {}): Build {
  const built = facts.driver.loaded !== undefined && facts.driver.loaded === facts.driver.userspace;
  const scope = built || awaitsBoot(facts, platform) ? 'next' : 'all';
  return facts.driver.runfile
    ? runfileBuild(facts, platform, { uses: [], scope, mirrors })
    : platform.names.driver.build(facts, scope);
}

/** Returns the same for a `.run` file, which has no package dependencies: DKMS and other packages are named here. */
export function runfileBuild(
  facts: Facts,
  { names }: Platform,
  {
    uses,
    scope,
    mirrors,
  }: {
    readonly uses: readonly DriverUse[];
    readonly scope: 'all' | 'next';
    readonly mirrors: Desired['mirrors'];
  },
): Build {
  const { runfile } = names.driver;
  const missing = runfile.packages(uses).filter((name) => facts.packages[name] === undefined);
  const { kernels, lacksToBuild, packages, held } = facts;
  const host = { kernels, lacksToBuild: [...lacksToBuild, ...missing], packages, held };
  const build = names.driver.build(host, scope);
  return missing.length === 0
    ? build
    : { ...build, script: [runfile.prepare?.({ mirrors }), build.script].filter(Boolean).join('\n') };
}

/** Installs the packages that an installed driver needs to be built for the running and the next kernel. */
export function* buildPackages(
  facts: Facts,
  { proxy, mirrors }: Desired,
  platform: Platform,
  { packages, script } = buildOf(facts, platform, mirrors),
): Iterable<Change> {
  if (packages.length === 0 || isSigned(facts, platform)) return;
  yield packageChange({
    step: 'driver',
    name: 'kernels',
    platform,
    // A .run file belongs to no package record.
    ...(facts.driver.runfile ? {} : { recorded: partRecord('driver', facts, platform) }),
    subject: { what: packages.join(', '), from: undefined, to: undefined },
    why:
      facts.driver.loaded === undefined
        ? 'required to build the driver'
        : `needed to build the driver${origin(facts)} for the next kernel`,
    disturbs: 'nothing',
    timeoutS: 1800,
    transaction: { packages: [], remove: [], mayRemove: [], proxy, before: script },
  });
}

/** Builds the driver's module for the kernel that boots next, where that has none. */
export function* nextModule(facts: Facts, platform: Platform): Iterable<Change> {
  const { next } = buildOf(facts, platform);
  if (next === undefined || next.driver || isSigned(facts, platform)) return;
  yield runChange(
    'driver',
    'module',
    {
      title: `build the NVIDIA module for Linux ${next.release}`,
      why: `Linux ${next.release} boots next and has no module of the driver${origin(facts)}`,
      disturbs: 'nothing',
    },
    { script: `${failFunction}\n${buildModule(next.release)}`, timeoutS: 3600 },
  );
}

/** Returns how the driver was installed, so that the owner of a `.run` file sees that azp-fleet builds modules for it. */
export function origin({ driver, ours }: Facts): string {
  if (!driver.runfile) return '';
  return ours.runfile !== undefined && ours.runfile.version === driver.userspace
    ? ' of the .run file'
    : " of the owner's .run file";
}

/** Returns shell text that builds for a kernel that is not running. DKMS may have done so, or failed at another driver. */
export function buildModule(release: string): string {
  const built = new Raw(hasModule('$kernel'));
  return sh`kernel=${release}
if command -v dkms >/dev/null && ! ${built}; then
  dkms autoinstall -k "$kernel" || :
fi
${built} ||
  fail "building the NVIDIA module failed for Linux $kernel, which boots next" 'a module' 'none' \
      'check the newest /var/lib/dkms/nvidia*/*/build/make.log; set a newer driver, or remove that kernel'`;
}
