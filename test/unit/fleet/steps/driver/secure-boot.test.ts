import { expect, it } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { secureBootObstacle } from '../../../../../src/fleet/steps/driver/secure-boot.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';
import { bareOf } from '../enterprise-cases.ts';

const ubuntu = {
  id: 'ubuntu',
  idLike: ['debian'],
  versionId: '24.04',
  codename: 'noble',
  pretty: 'Ubuntu 24.04',
};
const shim = '/var/lib/shim-signed/mok/MOK.der';
const dkms = '/var/lib/dkms/mok.pub';
const console = 'reboot, and confirm it at the console (MOK management: Enroll MOK), not over SSH';
const off = 'or disable Secure Boot in the firmware; then run again';
const canonical = (image: string, modules: string) => ({
  packages: { [image]: '1' },
  ready: `or take the driver that Ubuntu has signed, where it has that branch (sudo apt-get install ${modules} nvidia-utils-580-server, then reboot)`,
});
const generic = canonical(
  'linux-image-generic-hwe-24.04',
  'linux-modules-nvidia-580-server-open-generic-hwe-24.04',
);
const key = (path: string, state: Facts['driver']['keys'][number]['state'], configured = false) => ({
  path,
  state,
  configured,
});

it.each<[string, Partial<Facts>, Facts['driver']['keys'], string, string]>([
  [
    'Debian without a key',
    {},
    [],
    'no signing key exists yet',
    `sudo apt-get install dkms mokutil && sudo dkms generate_mok, sudo mokutil --import ${dkms}, ${console}, ${off}`,
  ],
  [
    'Debian with a new key',
    {},
    [key(dkms, 'new')],
    `${dkms} is not enrolled`,
    `sudo mokutil --import ${dkms}, ${console}, ${off}`,
  ],
  [
    'Debian with a requested key',
    {},
    [key(dkms, 'requested')],
    `${dkms} waits to be confirmed at the console`,
    `${console}, ${off}`,
  ],
  [
    'Debian without mokutil',
    {},
    [key(dkms, 'unknown')],
    `unknown whether ${dkms} is enrolled: mokutil is not installed`,
    `install mokutil on the host and run again, ${off}`,
  ],
  [
    'Debian with unknown output of mokutil',
    {},
    [key(dkms, 'unclear')],
    `mokutil does not say whether ${dkms} is enrolled`,
    `run sudo mokutil --test-key ${dkms}, and fix what it reports, ${off}`,
  ],
  [
    'a forbidden key',
    {},
    [key(dkms, 'blocked')],
    `${dkms} is in a list of forbidden keys`,
    `sign with another key (mok_certificate in /etc/dkms/framework.conf), ${off}`,
  ],
  [
    "a key in the firmware's own list under Oracle's kernel",
    { ...bareOf('ol', '9'), kernel: '5.15.0-305.176.4.el9uek.x86_64' },
    [key(dkms, 'firmware')],
    `${dkms} is in the firmware's own list (db), which this kernel may not trust for modules`,
    `sudo mokutil --import ${dkms}, ${console}, ${off}`,
  ],
  [
    'a key of the site, with another enrolled key',
    {},
    [key('/etc/keys/site.der', 'new', true), key(dkms, 'enrolled')],
    '/etc/keys/site.der is not enrolled',
    `sudo mokutil --import /etc/keys/site.der, ${console}, ${off}`,
  ],
  [
    'Ubuntu with an enrolled key of another program',
    { os: ubuntu, packages: generic.packages },
    [key(shim, 'new'), key(dkms, 'enrolled')],
    `${shim} is not enrolled`,
    `sudo mokutil --import ${shim}, ${console}, ${generic.ready}, ${off}`,
  ],
  [
    'Ubuntu without a key',
    { os: ubuntu, packages: generic.packages },
    [],
    'no signing key exists yet',
    `sudo update-secureboot-policy --new-key, sudo mokutil --import ${shim}, ${console}, ${generic.ready}, ${off}`,
  ],
  [
    'Ubuntu for Arm, without signed drivers',
    { os: ubuntu, packages: generic.packages, arch: 'aarch64' },
    [key(shim, 'requested')],
    `${shim} waits to be confirmed at the console`,
    `${console}, ${off}`,
  ],
])('the next action under Secure Boot: %s', (_, facts, keys, why, next) => {
  const seen = factsOf({ ...facts, driver: { secureBoot: true, keys } });
  const platform = platformOf(seen);
  expect(platform && secureBootObstacle(seen, desiredOf().host, platform)).toEqual({
    what: `Secure Boot is on, and the kernel would reject modules built on this host: ${why}`,
    next,
  });
});

it.each<[string, Facts]>([
  ['Debian', factsOf()],
  ['Ubuntu', factsOf({ os: ubuntu })],
  ['Rocky Linux', bareOf('rocky', '8')],
  ["Oracle Linux with Red Hat's kernel", bareOf('ol', '9')],
  ['Amazon Linux', bareOf('amzn', '2023')],
])("a key in the firmware's own list counts as enrolled: %s", (_, facts) => {
  const platform = platformOf(facts);
  const path = platform?.names.driver.signing.certificate ?? '';
  const seen = { ...facts, driver: { ...facts.driver, secureBoot: true, keys: [key(path, 'firmware')] } };
  expect(platform && secureBootObstacle(seen, desiredOf().host, platform)).toBeUndefined();
  expect(platform).toBeDefined();
});
