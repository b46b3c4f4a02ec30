// Debian's real NVIDIA packages, 550 of trixie and 535 of bookworm, on a machine with a desktop: installed, downgraded,
// upgraded and removed. Not real: the GPU, and the headers of the kernel that runs, so no module is built
// (distro-driver.test.ts builds one).
import { afterAll, beforeAll, expect, test } from 'vitest';

import { platformOf } from '../../../src/fleet/packages/distribution.ts';
import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import { packages as removalOfPackages } from '../../../src/fleet/steps/remove/host-stack.ts';
import type { Desired, Step } from '../../../src/fleet/steps/step.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { desiredOf } from '../../support/host.ts';
import { changesOf, described, titles } from '../support/described-plan.ts';
import { installOwn } from '../support/host-history.ts';
import { StackRun } from '../support/stack-run.ts';

const prefix = 'branches';
let lab: Lab;
let host: LabHost;
let desktop: readonly string[];

/** As an administrator adds the release before. */
const olderRelease = String.raw`set -e
sed -n 's/^\(deb [^ ]*\) trixie .*/\1 bookworm contrib non-free non-free-firmware/p' /etc/apt/sources.list \
  >/etc/apt/sources.list.d/older.list
test -s /etc/apt/sources.list.d/older.list
apt-get -q update >/dev/null`;

/** As its owner prefers that release's driver: apt takes no older version of what a package depends on by itself. */
const pinned = `cat >/etc/apt/preferences.d/older <<'END'
Package: src:nvidia-graphics-drivers
Pin: release n=bookworm
Pin-Priority: 1001
END`;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'desk', release: 'trixie', login: 'root', gpus: ['h200'] }],
  });
  host = lab.host('desk');
  await host.exec(installOwn('task-xfce-desktop'));
  desktop = (await installed()).filter((name) => /^(task-|xfce|lightdm|xserver-)/.test(name));
  expect(desktop).toEqual(expect.arrayContaining(['task-xfce-desktop', 'lightdm', 'xserver-xorg-core']));
  await host.exec(olderRelease);
});
afterAll(() => removeLab(prefix));

async function installed(): Promise<readonly string[]> {
  const { stdout } = await host.exec("dpkg-query -W -f '${db:Status-Abbrev}${Package} ${Version}\\n'");
  return stdout.split('\n').flatMap((line) => {
    const [, name] = /^ii (\S+)/.exec(line) ?? [];
    return name === undefined ? [] : [name];
  });
}

/** What the package manager and the desktop's owner would say after each change. */
async function expectWhole(): Promise<void> {
  expect(await host.exec('apt-get check -q', { allowFailure: true })).toMatchObject({ code: 0 });
  expect((await host.exec('dpkg --audit')).stdout).toBe('');
  expect(await installed()).toEqual(expect.arrayContaining([...desktop]));
}

async function versionOf(name: string): Promise<string> {
  const { stdout } = await host.exec(`dpkg-query -W -f '\${Version}' ${name}`, { allowFailure: true });
  return stdout;
}

const wanted = (branch: string): Desired => desiredOf({ driver: { method: 'distro', branch } });

test.each([
  ['550', /^install NVIDIA driver 550\.163\.01 /],
  ['535', /^downgrade NVIDIA driver 550\.163\.01 → 535\.[\d.]+ /],
  ['550', /^upgrade NVIDIA driver 535\.[\d.]+ → 550\.163\.01 /],
])('branch %s: %s', async (branch, title) => {
  await host.exec(branch === '535' ? pinned : 'rm -f /etc/apt/preferences.d/older');
  const run = new StackRun(lab, [driverStep]);
  const asked = await run.ask(host, wanted(branch));
  expect(asked.refusals).toEqual([]);
  expect(titles(asked)[0]).toMatch(title);
  const [first] = changesOf(asked);
  if (first === undefined) throw new Error('nothing to change');
  // There are no headers of the kernel that really runs: what replaces them is empty.
  await expect(run.apply(host, first)).rejects.toThrow(/no NVIDIA module was built for Linux/);
  for (const name of ['nvidia-smi', 'libcuda1', 'libnvidia-ml1'])
    expect(await versionOf(name), name).toMatch(new RegExp(`^${branch}\\.`));
  await expectWhole();
  expect(described(await run.ask(host, wanted(branch)))).not.toContainEqual(
    expect.stringMatching(/^(install|upgrade|downgrade) NVIDIA driver/),
  );
});

test('is removed, and nothing else; what apt brought with it is left to autoremove', async () => {
  const before = await installed();
  const removal: Step = {
    name: 'driver',
    *plan(facts, { root }) {
      const platform = platformOf(facts);
      if (platform !== undefined) yield* removalOfPackages(facts, platform, new Set(['driver']), root);
    },
  };
  const run = new StackRun(lab, [removal]);
  const asked = await run.ask(host, wanted('550'));
  expect(described(asked).join(' ')).toMatch(/ libcuda1,.* nvidia-smi/);
  for (const change of changesOf(asked)) await run.apply(host, change);
  await expectWhole();
  const after = await installed();
  const { stdout: automatic } = await host.exec('apt-mark showauto');
  const left = after.filter((name) => /nvidia|libcuda/.test(name));
  expect(left.filter((name) => !automatic.split('\n').includes(name))).toEqual([]);
  for (const name of left) expect(await versionOf(name), name).not.toMatch(/^5\d\d\./);
  expect(before.filter((name) => !after.includes(name) && !/nvidia|libcuda|libnvcuvid/.test(name))).toEqual(
    [],
  );
});
