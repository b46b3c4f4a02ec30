import { quote, sh } from '../../../shared/base/shell.ts';
import type { Machine, System } from '../system.ts';
import { nvidiaMachine, type Vendor } from '../vendors.ts';

/** How a vendor's repository lies below its base. */
interface Layout {
  readonly uri: string;
  /** A codename, or `/` for a flat repository, as in `stable/deb/amd64/`. */
  readonly suite: string;
  readonly components: string;
  /** Shell text that puts the key into `$key`, a file in the folder `$work`. It may use `download URL FILE [SHA256]`. */
  readonly fetchKey: string;
}

/** dpkg's names for machines. */
export const architectures: Readonly<Record<Machine, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

type Layouts = Readonly<Record<Vendor, (base: string, system: System, mirrored: boolean) => Layout>>;

export const layouts: Layouts = {
  /**
   * The key comes out of the vendor's keyring package, whose sha256 is known for x86_64; elsewhere, and on a site's
   * mirror, the transport or the mirror is trusted.
   */
  nvidia: (base, { nvidia, machine }, mirrored) => {
    const uri = `${base}/${nvidia.folder}/${nvidiaMachine[machine]}`;
    const pin =
      mirrored || machine !== 'x86_64' || nvidia.keySha256 === undefined ? '' : ` ${nvidia.keySha256}`;
    return {
      uri,
      suite: '/',
      components: '',
      fetchKey: `download ${quote(`${uri}/cuda-keyring_1.1-1_all.deb`)} "$work/keyring.deb"${pin}
dpkg-deb --fsys-tarfile "$work/keyring.deb" | tar -xOf - ./usr/share/keyrings/cuda-archive-keyring.gpg >"$key"`,
    };
  },
  /** The key is trusted because it came over TLS, or from the site's own mirror. */
  docker: (base, { docker }) => {
    const uri = `${base}/${docker.folder}`;
    return {
      uri,
      suite: docker.release,
      components: 'stable',
      fetchKey: sh`download ${`${uri}/gpg`} "$key"`,
    };
  },
  /** One flat repository serves every distribution. The key is trusted like Docker's. */
  'nvidia-container-toolkit': (base, { machine }) => ({
    uri: `${base}/stable/deb/${architectures[machine]}`,
    suite: '/',
    components: '',
    fetchKey: sh`download ${`${base}/gpgkey`} "$key"`,
  }),
};
