import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import type { Question } from '../../../../../src/fleet/packages/simulation.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { bareOf } from '../../steps/enterprise-cases.ts';
import { dnfHost, dnfMemory, rpmMemory } from './dnf-host.ts';

const system = platformOf(bareOf('rocky', '9.5')) as NonNullable<ReturnType<typeof platformOf>>;
export const site = { mirrors: { docker: 'http://mirror/docker' }, proxy: { noProxy: ['.lab'] } };
export const ours = dnf.source('docker', system, site);
export const docker: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0' } }, { name: 'extra' }],
  remove: ['old'],
  mayRemove: [],
  proxy: { noProxy: [] },
};

export function ask(transaction: Transaction, parts: Partial<Question> = {}): string {
  return dnf.simulator.script({
    asked: [{ key: 'docker-install-1', transaction }],
    missing: [],
    system,
    site,
    ...parts,
  });
}

export const answered = (...lines: readonly string[]): string =>
  ['begin docker-install-1', ...lines, 'end', ''].join('\n');
export const asked = (...brought: readonly string[]): Record<string, string> => ({
  '/run/requested': `644 install ${['tool-2.0', 'extra', ...brought].join(' ')}\nremove  old\nrun\n`,
});
export const locks = '# ours\ntool-5:1.9-1.el9.*\n runc-4:1.1-1.*\n!never-1-1.*\n';
export const world = {
  'all-locks': `644 ${locks}`,
  locks: '644 # ours\n runc-4:1.1-1.*\n!never-1-1.*\n',
  answer: '644 ',
  'update.words': '644 0\n',
};
export const engine = [
  'version 2.0',
  'install containerd.io 1.7.27-3.1.el9',
  'remove runc 4:1.1.12-1.el9',
  'install docker-ce 3:29.7.2-1.el9',
  'remove podman-docker 4:4.9-1.el9',
  'remove buildah 2:1.33-1.el9',
  'space 18432 0',
];

const scratch = '/run/azp-fleet-simulation.XXXXXX';

/**
 * A dnf that must be called in a separate folder with time limits, and reports other calls. Its outputs are files that
 * a case may write: /run/answer, without locks /run/freed, for its lists /run/heard, and /run/later after another
 * repository, which /run/brings adds (else it prints /run/refused) and which
 * offers the packages in /run/more. `/run/copy`: a copy of its folder is kept in /run/seen.
 */
export function simulatedHost(host: ScratchHost): void {
  dnfHost(host);
  host
    .program('mktemp', 'mkdir -m 700 "$2"; echo "$2"', { silent: true })
    .program('rpm', `case $* in *' -i '*) ${unpacks} ;; esac\n${rpmMemory}`, { silent: true })
    .program('dnf', `${guarded}\n${dnfMemory}`, { silent: true });
}

const own = [
  ...['reposdir', 'cachedir', 'logdir', 'pluginconfpath'].map((name) => `--setopt=${name}=${scratch}/`),
  ...['timeout=10', 'retries=1', 'install_weak_deps=0', 'best=1', 'clean_requirements_on_remove=0'].map(
    (each) => `--setopt=${each} `,
  ),
  '--setopt=*.skip_if_unavailable=1 ',
  '--disableplugin=subscription-manager ',
  '--disableplugin=product-id ',
  '--disableplugin=generate_completion_cache ',
];

const unpacks = `case $* in
  "--root ${scratch}/more --dbpath /db -i --nodeps --noscripts --notriggers --nosignature more/epel.rpm") ;;
  *) echo "rpm touches the host: $*"; exit 9 ;;
esac
mkdir -p more/etc/yum.repos.d
cp /run/brings more/etc/yum.repos.d/epel.repo
echo 'a word' >&2
exit`;

const guarded = `case " $* " in
  *' versionlock list '*) cat /etc/dnf/plugins/versionlock.list 2>/dev/null; exit ;;
esac
[ -e ${scratch}/locks ] || echo "asked without a lock list: $*" >/run/strayed
[ "$no_proxy" = .lab ] || echo "asked without the proxy's exceptions" >/run/strayed
if [ -e ${scratch}/ca.crt ]; then
  case " $* " in *' --setopt=sslcacert=${scratch}/ca.crt '*) ;; *) echo "asked without the authority: $*" >/run/strayed ;; esac
fi
${own.map((each) => `case " $* " in *' ${each}'*) ;; *) echo "asked on the host, without ${each}: $*" >/run/strayed ;; esac`).join('\n')}
case " $* " in
  *' makecache '*)
    wc -c <&0
    case " $* " in *' --enablerepo=crb '*) : >${scratch}/switched ;; esac
    if [ -e ${scratch}/switched ] || grep -qs '^\\[' ${scratch}/repos/epel.repo ${scratch}/repos/azp-fleet-epel.repo; then
      if [ -e /run/later ]; then cat /run/later >&2; fi
      if [ -e /run/more ]; then mv /run/more /var/lib/dnf/offers; fi
      [ ! -e /run/later ] || exit 1
    elif [ -e /run/heard ]; then
      cat /run/heard >&2
      exit 1
    fi
    exit ;;
  *' --downloadonly '*)
    [ -e /run/brings ] || { cat /run/refused >&2; exit 1; }
    case " $* " in *" -y --nogpgcheck --downloadonly --downloaddir=${scratch}/more install "*) ;; *) echo "$*" >/run/strayed ;; esac
    [ "$(wc -c <&0)" -eq 0 ] || echo 'dnf reads the script’s input' >/run/strayed
    mkdir -p ${scratch}/more
    : >${scratch}/more/epel.rpm
    echo 'a word' >&2
    exit ;;
  *' shell '*)
    cat >>/run/requested
    [ ! -e /run/copy ] || [ -e /run/seen ] || cp -R ${scratch} /run/seen
    case " $* " in
      *' --assumeno --allowerasing --disableplugin=versionlock shell '*) cat /run/freed >&2; exit 1 ;;
      *' --assumeno --allowerasing shell '*) cat /run/answer >&2; exit 1 ;;
      *) echo "$*" >/run/strayed ;;
    esac
    exit ;;
esac`;

/** Results of a case: dnf's calls, and its folder with normalised paths. */
export function worldAs(
  files: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const seen = {
    cache: '755 /',
    log: '755 /',
    plugins: '755 /',
    'plugins/versionlock.conf': `644 [main]\nenabled=1\nlocklist=${scratch}/locks\n`,
    repos: '755 /',
    ...files,
  };
  return {
    ...others,
    '/run/seen': '700 /',
    ...Object.fromEntries(Object.entries(seen).map(([path, what]) => [`/run/seen/${path}`, what])),
  };
}
