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
 * Another kernel waits for a reboot, and the running one has nothing to build with, which sources seldom offer once there is
 * a newer one: the driver is for the next boot. After that nothing waits any more, whichever kernel was booted.
 */
export function awaitsBoot(facts: Facts, platform: Platform): boolean {
  const { next } = platform.names.driver.build(facts, 'next');
  return facts.rebootRequired && next !== undefined && facts.kernels[0]?.headers === false;
}

/** What the driver is built with. Where it is loaded, it is built: then only kernels to come matter. */
export function buildOf(facts: Facts, platform: Platform, mirrors: Desired['mirrors'] = {}): Build {
  const built = facts.driver.loaded !== undefined && facts.driver.loaded === facts.driver.userspace;
  const scope = built || awaitsBoot(facts, platform) ? 'next' : 'all';
  return facts.driver.runfile
    ? runfileBuild(facts, platform, { uses: [], scope, mirrors })
    : platform.names.driver.build(facts, scope);
}

/** The same of a driver that no package brings: DKMS and what else its packages would lean on has to be named. */
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
  const more = runfile.packages(uses).filter((name) => facts.packages[name] === undefined);
  const build = names.driver.build({ ...facts, lacksToBuild: [...facts.lacksToBuild, ...more] }, scope);
  return more.length === 0
    ? build
    : { ...build, script: [runfile.prepare?.({ mirrors }), build.script].filter(Boolean).join('\n') };
}

/** The driver's packages are there: what they lack to be built for the kernels of this host, today's and tomorrow's. */
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
    // A .run file is no package, and its owner's is not ours.
    ...(facts.driver.runfile ? {} : { recorded: partRecord('driver', facts, platform) }),
    subject: { what: packages.join(', '), from: undefined, to: undefined },
    why:
      facts.driver.loaded === undefined
        ? 'required to build the driver'
        : `the driver${origin(facts)} could not be built for the next kernel`,
    disturbs: 'nothing',
    timeoutS: 1800,
    transaction: { packages: [], remove: [], mayRemove: [], proxy, before: script },
  });
}

/** The kernel that boots next has no driver yet. */
export function* nextModule(facts: Facts, platform: Platform): Iterable<Change> {
  const { next } = buildOf(facts, platform);
  if (next === undefined || next.driver || isSigned(facts, platform)) return;
  yield runChange(
    'driver',
    'module',
    {
      title: `build the NVIDIA module for Linux ${next.release}`,
      why: `it would boot without the driver${origin(facts)}`,
      disturbs: 'nothing',
    },
    { script: `${failFunction}\n${buildModule(next.release)}`, timeoutS: 3600 },
  );
}

/** Who has to know that something is done for a driver that he has installed himself. */
export function origin({ driver, ours }: Facts): string {
  if (!driver.runfile) return '';
  return ours.runfile !== undefined && ours.runfile.version === driver.userspace
    ? ' of the .run file'
    : ', which its owner has installed from a .run file,';
}

/** Builds for a kernel that does not run. DKMS may have done so, and may have failed at another driver than this one. */
export function buildModule(release: string): string {
  const built = new Raw(hasModule('$kernel'));
  return sh`kernel=${release}
if command -v dkms >/dev/null && ! ${built}; then
  dkms autoinstall -k "$kernel" || :
fi
${built} ||
  fail "no NVIDIA module could be built for Linux $kernel, which boots next" 'a module' 'none' \
    'look at the newest /var/lib/dkms/nvidia*/*/build/make.log, and take a newer driver, or remove that kernel'`;
}
