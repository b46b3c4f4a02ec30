import type { DriverNames } from '../names.ts';

/** What Debian and Ubuntu have in common: DKMS signs whatever it builds. */
const common = {
  // Both patch their kernels for it: Debian's features/all/db-mok-keyring/KEYS-Make-use-of-platform-keyring-for-module-signature,
  // Ubuntu's "SAUCE: (lockdown) KEYS: Make use of platform keyring for module signature verify" (its shim review names it).
  trustsFirmware: () => true,
  // `linux-modules-nvidia-580-server-open-6.8.0-45-generic`: Canonical's, signed for exactly this kernel.
  covers: (packages, release) =>
    Object.keys(packages).some((name) => signedModules.test(name) && name.endsWith(`-${release}`)),
  builtHere: (packages) => Object.keys(packages).some((name) => /^nvidia-[a-z0-9-]*dkms/.test(name)),
} satisfies Partial<DriverNames['signing']>;

const signedModules = /^linux-modules-nvidia-\d{3}(-server)?(-open)?-\d/;

/** DKMS makes its key when it first builds, or when it is told to. */
export const debianSigning: DriverNames['signing'] = {
  ...common,
  certificate: '/var/lib/dkms/mok.pub',
  create: 'sudo apt-get install dkms mokutil && sudo dkms generate_mok',
  readyMade: () => undefined,
};

/** Ubuntu's dkms signs with the key that its shim-signed package keeps. */
export const ubuntuSigning: DriverNames['signing'] = {
  ...common,
  certificate: '/var/lib/shim-signed/mok/MOK.der',
  create: 'sudo update-secureboot-policy --new-key',
  readyMade: ({ arch, packages }, { branch }, flavor) => {
    const image = Object.keys(packages).find((name) => /^linux-image-(?!\d|unsigned|extra)/.test(name));
    if (arch !== 'x86_64' || image === undefined) return undefined;
    const kind = `${branch}-server`;
    const modules = `linux-modules-nvidia-${kind}${flavor === 'open' ? '-open' : ''}-${image.slice('linux-image-'.length)}`;
    return `take the driver that Ubuntu has signed, where it has that branch (sudo apt-get install ${modules} nvidia-utils-${kind}, then reboot)`;
  },
};
