// Obstacles on a Debian that looks like Rocky Linux 9, where dnf and rpm are real: each is seen in the plan, before
// anything is changed. The driver, the desktop and Podman are stand-ins with the names and relations of the real ones.
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';

const prefix = 'obstacles';

let lab: Lab;
let host: LabHost;
let azure: LabAzure;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'el', release: 'rocky9', login: 'sudo', gpus: ['l40s'] }],
  });
  host = lab.host('el');
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
});
afterAll(() => removeLab(prefix));

const inventory = (driver: Readonly<Record<string, string>>): Promise<string> =>
  writeInventory(lab, azure, { defaults: { driver } });

/** What the plan says, and fails if the host's packages change in between. */
async function planned(
  driver: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly said: string }> {
  const database = async () => (await host.exec('rpm -qa | sort | sha256sum; ls /etc/yum.repos.d')).stdout;
  const before = await database();
  const { code, stdout } = await azpFleet(lab.folder, ['plan', await inventory(driver)]);
  expect(await database()).toBe(before);
  return { code, said: stdout.replaceAll(/\s+/g, ' ') };
}

const newest = { version: '595.71.05' };

test('a full disk: refused with the numbers', async () => {
  await host.exec('mount -t tmpfs -o size=1m tmpfs /var/cache');
  try {
    const { code, said } = await planned(newest);
    expect(code).toBe(1);
    expect(said).toMatch(/needs \d+ MB on \/var\/cache including the changes before it; 1 MB are free/);
  } finally {
    await host.exec('umount /var/cache');
  }
});

test('podman-docker: refused, as Podman has its own containers', async () => {
  await host.exec('dnf -y -q install podman-docker');
  const { code, said } = await planned(newest);
  expect(code).toBe(1);
  expect(said).toContain('this is a Podman host');
  await host.exec('dnf -y -q remove podman-docker podman');
});

test('an exclude of its owner: refused, as what it hides is not offered', async () => {
  await host.exec(
    `cp -p /etc/dnf/dnf.conf /root/; echo 'excludepkgs=nvidia-driver-cuda' >>/etc/dnf/dnf.conf`,
  );
  try {
    const { code, said } = await planned(newest);
    expect(code).toBe(1);
    expect(said).toContain('driver 595.71.05 is not in the repositories');
  } finally {
    await host.exec('mv /root/dnf.conf /etc/dnf/dnf.conf');
  }
});

test('a newer version stays where no older one is configured, and is locked', async () => {
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'provision',
    await inventory(newest),
    '--yes',
  ]);
  expect(code, `${stdout}${stderr}`).toBe(0);
  const { code: pending, said } = await planned({});
  expect(said).toContain('No changes: 1 host up to date.');
  expect(pending).toBe(0);
  expect((await host.exec('cat /etc/dnf/plugins/versionlock.list')).stdout).toContain(
    'nvidia-driver-cuda-3:595.71.05-1.el9.*',
  );
});

test('a foreign container: a driver change is refused with its name', async () => {
  await host.exec('docker run -d --name theirs --entrypoint sleep $(docker image ls -q | head -n 1) 1000');
  const { code, said } = await planned({ branch: '580' });
  expect(code).toBe(1);
  expect(said).toMatch(/theirs/);
  await host.exec('docker rm -f theirs');
});

test('a desktop on the driver: refused, with the names of what would go', async () => {
  await host.exec(`mkdir -p /root/desk
pack() { # NAME VERSION EPOCH RELATION…
  { printf '%s\\n' '%define debug_package %{nil}' "Name: $1" "Version: $2" "Epoch: $3" 'Release: 1.el9' 'Summary: x' 'License: MIT' 'AutoReqProv: no'
    shift 3
    printf '%s\\n' "$@" '%description' x '%files'
  } >/root/desk.spec
  rpmbuild -bb --quiet --define '_rpmdir /root/desk' /root/desk.spec >/dev/null 2>&1
}
pack nvidia-driver 595.71.05 3 'Requires: nvidia-driver-cuda-libs = 3:595.71.05'
pack gdm 40.1 1 'Requires: nvidia-driver'
dnf -y -q install /root/desk/x86_64/*.rpm`);
  const { code, said } = await planned({ branch: '580' });
  expect(code).toBe(1);
  expect(said).toMatch(/would remove (gdm, nvidia-driver|nvidia-driver, gdm) from this host's desktop/);
});
