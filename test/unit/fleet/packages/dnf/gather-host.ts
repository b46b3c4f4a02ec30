import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { offered } from './dnf-host.ts';

export const out = '/var/lib/azp-fleet-gathered';

/** rpm's output about a package in the pool, from its file. */
const facts = (name: string, version: string, ...lines: readonly string[]): string =>
  [`name\t${name}\t${version.replace(/[:-]/g, '\t')}\tx86_64\t12`, ...lines, ''].join('\n');

/**
 * Packages by their name in dnf's command line; the repository uses other file names. The shell splits at the commas, where a version
 * is not quoted.
 */
export const repository = {
  'dnf-command(versionlock)': facts(
    'python3-dnf-plugin-versionlock',
    '0:4.3.0-1.el9',
    'provides\tdnf-command(versionlock)\t0\t',
    'requires\t/usr/share/tool/data\t0\t',
    'requires\trpmlib(PayloadIsZstd)\t16777226\t5.4.18-1',
  ),
  'tool-2.0,1': facts(
    'tool',
    '5:2.0,1-1.el9',
    'provides\ttool\t8\t5:2.0-1.el9',
    'provides\ta&b<c>"d"\t12\t1',
    'requires\t(gcc if make)\t0\t',
    'requires\tbash\t16777218\t5',
    'requires\tbash\t16777218\t5',
    'conflicts\tother\t10\t0:4-2',
    'obsoletes\told\t2\t3',
    'file\t/etc/tool.conf',
    'file\t/usr/bin/tool',
    'file\t/usr/libexec/tool',
    'file\t/usr/lib/sendmail',
    'file\t/usr/share/tool',
    'file\t/usr/share/tool/data',
    'file\t/usr/share/doc/tool/README',
  ),
  extra: facts('extra', '0:9-1.el9', 'conflicts\t(none)\t(none)\t(none)', 'file\t/etc/extra.conf'),
  'more-2.0,1': facts('more', '0:2.0,1-1.el9', 'requires\ttool\t4\t1:1'),
  'drv-580.9,1': facts('drv', '3:580.9,1-1.el9'),
  headers: facts('headers', '0:1-1.el9'),
  gcc: facts('gcc', '0:11^2-1.el9'),
};

const dnf = `[ "$http_proxy $no_proxy" = 'http://proxy:3128 .lab' ] || echo "without the proxy: $*" >>/run/strayed
case " $* " in
  *' repolist --all '*) cat /run/known; exit ;;
  *' --installroot=${out}/root --releasever=/ --setopt=*.gpgcheck=1 '*) ;;
  *' -y install '*) for word; do :; done; echo "$word" >>/run/here; exit ;;
  *) echo "outside of the empty root: $*" >>/run/strayed ;;
esac
case " $* " in
  *' makecache '* | *' --duplicates '*) exit ;;
  *' repoquery '*)
    for name; do :; done
    [ "$name" != dkms ] || [ -e /run/here ] || exit 0
    while read -r each version; do [ "$each" != "$name" ] || echo "$version"; done </var/lib/dnf/offers
    exit ;;
esac
case "$*" in
  *versionlock*) ;;
  *) [ ! -e /run/refused ] || { cat /run/refused; exit 1; } ;;
esac
asked=
for word; do
  if [ -n "$asked" ]; then cp "/run/repository/$word" "${out}/pool/as $word.rpm"; fi
  if [ "$word" = install ]; then asked=yes; fi
done
echo '(1/1): x.rpm'`;

const rpm = `case $1 in
  -qa | --import) exit ;;
  -q) exit 1 ;;
esac
for file; do :; done
case "$*" in
  '-qp --nosignature --qf %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm '*)
    awk -F '\\t' '$1 == "name" { printf "%s-%s-%s.%s.rpm", $2, $4, $5, $6 }' "$file" ;;
  '-qp --nosignature --qf name\\t%{NAME}\\t'*'\\n][file\\t%{FILENAMES}\\n] '*) cat "$file" ;;
  *) echo "asked of rpm: $*" >>/run/strayed ;;
esac`;

/**
 * A container of the system's image, with a dnf that fetches what is requested. It prints /run/refused instead, if that exists, for all
 * but the versionlock plugin.
 */
export function container(host: ScratchHost): void {
  offered(
    host,
    'tool 5:2.1-1',
    'tool 5:2.0,1-1',
    'more 0:2.0,1-1',
    'drv 3:580.9,1-1',
    'epel-release 0:9-1',
    'dkms 0:3-1',
  );
  for (const [word, text] of Object.entries(repository)) host.file(`/run/repository/${word}`, text);
  host
    .file(
      '/run/known',
      'repo id  repo name  status\nbaseos  powertools  enabled\ncrb  CRB  disabled\nol9_UEKR8  x  disabled\ncrb-debug  x  disabled\n',
    )
    // An unquoted pattern would match this file.
    .file(`${out}/--setopt=file.gpgcheck=1`)
    .file('/proc/locks')
    .folder('/etc/yum.repos.d')
    .program('uname', 'echo x86_64', { silent: true })
    .program('curl', 'echo "BEGIN PGP PUBLIC KEY" >/tmp/tmp.XXXXXX/key')
    .program('rpm', rpm, { silent: true })
    .program('dnf', dnf)
    .program('tar', 'echo "$*"; cat primary.xml; for file in pool/* keys/*; do echo "$file"; done', {
      silent: true,
    });
}
