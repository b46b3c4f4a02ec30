import { symlinkSync } from 'node:fs';
import { join } from 'node:path';

import type { ScratchHost } from '../scratch/host.ts';

/** The machine's own, under names that stand-ins call them by. They read, and write, only below the scratch host. */
const real = ['apt-get', 'apt-cache', 'apt-config', 'dpkg', 'dpkg-query'];
const standin = join(import.meta.dirname, 'dpkg-standin.pl');

/**
 * apt decides, and its own programs answer; what it would have dpkg do is done in the scratch host's status alone. All
 * sources answer an update with the lists that are there already.
 */
export function aptPrograms(host: ScratchHost, kernel: string): void {
  for (const name of real) symlinkSync(`/usr/bin/${name}`, host.at(`/bin/${name}-real`));
  const silent = { silent: true };
  const config = 'export APT_CONFIG="${APT_CONFIG:-/etc/apt/apt.conf}"';
  symlinkSync(standin, host.at('/bin/dpkg-standin.pl'));
  // dpkg looks for them before it begins.
  for (const name of ['diff', 'ldconfig', 'start-stop-daemon']) host.program(name, '', silent);
  const dpkg = 'perl /bin/dpkg-standin.pl /etc/..';
  host
    .program('apt-get', aptGet(config, dpkg), silent)
    .program('apt-cache', `${config}\nexec apt-cache-real "$@"`, silent)
    .program('apt-config', `${config}\nexec apt-config-real "$@"`, silent)
    .program('dpkg-query', 'exec dpkg-query-real --admindir=/var/lib/dpkg "$@"', silent)
    .program('apt-mark', `${dpkg} "$@"`, silent)
    .program('dpkg', dpkgItself, silent)
    .program('dpkg-deb', 'name=${2##*/}\nexec tar -cf - -C "/run/contents/${name%%_*}" .', silent)
    .program('/usr/lib/apt/apt-helper', 'echo key >"$5"', silent)
    .program('uname', `echo '${kernel}'`, silent)
    .program('id', 'exit 1', silent)
    .program('systemctl', '', silent)
    .program('sync', '', silent)
    .program('docker', 'echo 29', silent)
    .program('modinfo', '', silent)
    .program('modprobe', 'mkdir -p /sys/module/nvidia; echo 1 >/sys/module/nvidia/version', silent)
    .program('update-initramfs', '', silent);
}

/** No package has files or scripts: dpkg configures those whose dependencies are met. */
const dpkgItself =
  'case $1 in --print-architecture) echo amd64 ;; --audit | --configure) exec dpkg-real --admindir=/var/lib/dpkg --log=/dev/null --force-not-root "$@" ;; esac';

const aptGet = (config: string, dpkg: string): string => `${config}
case " $* " in
  *' update '*)
    apt-get-real indextargets --format 'Get:1 $(REPO_URI) $(RELEASE) InRelease' 'Created-By: Packages' | sed 's|/ | |' ;;
  *' download '*)
    for name; do :; done
    : >"\${name}_1_all.deb" ;;
  *' -s '* | *' indextargets '* | *' --print-uris '*) exec apt-get-real "$@" ;;
  *)
    printf '%s\\n' "$*" >>/run/asked
    apt-get-real -s "$@" >/run/answer
    sed -En 's/^((Inst|Conf) [^ :]+).*/\\1/p' /run/answer >>/run/steps
    ${dpkg} install </run/answer ;;
esac`;
