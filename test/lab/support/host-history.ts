import { readFileSync } from 'node:fs';

import { changesFolder } from '../../../src/fleet/ssh/session/durable-change.ts';
import { buildDeb, type Deb } from '../../../practice/lab/deb.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { standInModule } from '../../../practice/lab/runfile.ts';
import { until } from '../../../practice/lab/run.ts';

/** What a host says that it is; all else stays Debian's. */
export async function dressAsUbuntu(host: LabHost): Promise<void> {
  await host.exec(`rm -f /etc/os-release
cat >/etc/os-release <<'END'
PRETTY_NAME="Ubuntu 24.04 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
END`);
}

/** Shell text: packages of the system's own archive, without what they recommend. */
export const installOwn = (names: string): string =>
  `export DEBIAN_FRONTEND=noninteractive
apt-get -q update >/dev/null
apt-get install -qy --no-install-recommends ${names} >/dev/null 2>&1`;

export interface LockHolder {
  /** Resolves when a change on the host has said that it waits for this one. */
  waitedFor(): Promise<void>;
  letGo(): Promise<void>;
}

/** A program of this name has dpkg's lock, as `apt-get` has it at work. */
export async function holdLock(host: LabHost, name: string): Promise<LockHolder> {
  const [ready, enough] = ['/run/lab-holds', '/run/lab-enough'];
  await host.exec(`rm -f ${ready} ${enough}`);
  const holding = host.exec(`perl -MFcntl -e '
    $0 = "${name}";
    open(F, ">>", "/var/lib/dpkg/lock-frontend");
    my $lock = pack("ssqqi", F_WRLCK, 0, 0, 0, 0);
    fcntl(F, F_SETLKW, $lock) or die;
    open(R, ">", "${ready}.part");
    print R $$;
    close(R);
    rename("${ready}.part", "${ready}");
    until (-e "${enough}") { select(undef, undef, undef, 0.2); }'`);
  const says = async (script: string): Promise<boolean> =>
    (await host.exec(script, { allowFailure: true })).code === 0;
  await until(`${name} on ${host.name} to have the lock`, () => says(`test -e ${ready}`));
  const pid = (await host.exec(`cat ${ready}`)).stdout;
  const words = `waiting, because ${name} (pid ${pid}) holds /var/lib/dpkg/lock-frontend`;
  return {
    waitedFor: async () => {
      const read = `grep -rqsF '${words}' ${changesFolder}`;
      await until(`a change on ${host.name} to wait for ${name}`, () => says(read), { timeoutMs: 800_000 });
    },
    letGo: async () => {
      await host.exec(`touch ${enough}`);
      await holding;
    },
  };
}

/** Runs another user's container, from an image that is made of the host's own files. */
export async function runContainer(host: LabHost, name: string): Promise<void> {
  await host.exec(`set -e
files=$(ldd /bin/sleep | grep -o '/[^ ]*'; readlink -f $(ldd /bin/sleep | grep -o '/[^ ]*'))
tar -cf - --dereference /bin/sleep $files 2>/dev/null | docker import - site/sleep >/dev/null
docker run -d --name ${name} site/sleep /bin/sleep 3600 >/dev/null`);
}

/** Replaces DKMS, whose compiler no lab host has: puts a module there that says its version and nothing else. */
export async function giveDkms(host: LabHost, version: string): Promise<void> {
  const [module, program] = ['/usr/lib/nvidia-standin/nvidia.ko', '/usr/local/sbin/dkms'];
  await host.exec(`cat >${module}`, { input: standInModule(version) });
  await host.exec(`cat >${program} <<'END'
#!/bin/sh
set -e
[ "$1 $2" = 'autoinstall -k' ] || exit 0
[ -e "/lib/modules/$3/build" ] || exit 0
install -D -m 644 ${module} "/lib/modules/$3/updates/dkms/nvidia.ko"
depmod "$3"
END
chmod 755 ${program}`);
}

/** A newer kernel was upgraded to and has not been booted; its headers are offered by a source of the host's own. */
export async function giveKernel(
  host: LabHost,
  { flavor, release, folder }: { readonly flavor: string; readonly release: string; readonly folder: string },
): Promise<void> {
  const version = release.replace(/-[a-z].*$/, '');
  const kernel = (name: string, more: Partial<Deb> = {}): Deb => ({
    name,
    version,
    description: 'stand-in',
    ...more,
  });
  const image = kernel(`linux-image-${release}`, {
    files: [
      { path: `/boot/vmlinuz-${release}`, content: { text: 'kernel\n' } },
      { path: `/lib/modules/${release}/modules.order`, content: { text: '' } },
      { path: `/lib/modules/${release}/modules.builtin`, content: { text: '' } },
    ],
    scripts: { postinst: `depmod ${release}` },
  });
  const headers = kernel(`linux-headers-${release}`, {
    files: [
      { path: `/usr/src/linux-headers-${release}/Makefile`, content: { text: '' } },
      // DKMS looks for the folder.
      { path: `/usr/src/linux-headers-${release}/include/Kbuild`, content: { text: '' } },
      { path: `/lib/modules/${release}/build`, content: { link: `/usr/src/linux-headers-${release}` } },
    ],
  });
  const debs = [
    image,
    kernel(`linux-image-${flavor}`, { depends: [image.name] }),
    headers,
    kernel(`linux-headers-${flavor}`, { depends: [headers.name] }),
  ];
  await host.exec('mkdir -p /srv/site');
  for (const deb of debs) {
    const input = readFileSync(await buildDeb(deb, folder));
    await host.exec(`cat >/srv/site/${deb.name}.deb`, { input });
  }
  // An index without apt-ftparchive, which is no part of a server: the fields of each package, and where it is.
  await host.exec(`set -e
cd /srv/site
for file in *.deb; do
  dpkg-deb -f "$file"
  printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' "$file" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d ' ' -f 1)"
done >Packages
echo 'deb [trusted=yes] file:/srv/site ./' >/etc/apt/sources.list.d/site.list
rm -f /run/azp-fleet/package-lists
apt-get -q update >/dev/null 2>&1
DEBIAN_FRONTEND=noninteractive apt-get install -qy linux-image-${flavor} >/dev/null 2>&1`);
}
