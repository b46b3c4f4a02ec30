import type { ScratchHost } from '../../../../../support/scratch/host.ts';
import { dnfHost, dnfMemory, rpmMemory } from '../dnf-host.ts';

const scratch = '/run/azp-fleet-simulation.XXXXXX';

/**
 * A dnf that has to be asked in a world of its own, with time limits: where it is not, it says so. Its words are files that
 * a case may write: /run/answer, without locks /run/freed, of its lists /run/heard, and /run/later once there is a
 * repository more, which /run/brings is (else /run/refused is what is said) and which
 * offers what is in /run/more. `/run/look`: a copy of the world that it is asked in is kept in /run/seen.
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
[ "$no_proxy" = .lab ] || echo "asked without the proxy's exceptions" >/run/strayed
if [ -e ${scratch}/ca.crt ]; then
  case " $* " in *' --setopt=sslcacert=${scratch}/ca.crt '*) ;; *) echo "asked without the authority: $*" >/run/strayed ;; esac
fi
${own.map((each) => `case " $* " in *' ${each}'*) ;; *) echo "asked on the host, without ${each}: $*" >/run/strayed ;; esac`).join('\n')}
case " $* " in
  *' makecache '*)
    wc -c <&0
    case " $* " in *' --enablerepo=crb '*) : >${scratch}/switched ;; esac
    if [ -e ${scratch}/switched ] || [ -e ${scratch}/repos/epel.repo ] || [ -e ${scratch}/repos/azp-fleet-epel.repo ]; then
      if [ -e /run/later ]; then cat /run/later >&2; fi
      if [ -e /run/more ]; then mv /run/more /var/lib/dnf/offers; fi
    elif [ -e /run/heard ]; then
      cat /run/heard >&2
      exit 1
    fi
    exit ;;
  *' --downloadonly '*)
    [ -e /run/brings ] || { cat /run/refused >&2; exit 1; }
    case " $* " in *" -y --nogpgcheck --downloadonly --downloaddir=${scratch}/more install "*) ;; *) echo "$*" >/run/strayed ;; esac
    mkdir -p ${scratch}/more
    : >${scratch}/more/epel.rpm
    echo 'a word' >&2
    exit ;;
  *' shell '*)
    cat >>/run/told
    [ ! -e /run/look ] || [ -e /run/seen ] || cp -R ${scratch} /run/seen
    case " $* " in
      *' --assumeno --allowerasing --disableplugin=versionlock shell '*) cat /run/freed >&2; exit 1 ;;
      *' --assumeno --allowerasing shell '*) cat /run/answer >&2; exit 1 ;;
      *) echo "$*" >/run/strayed ;;
    esac
    exit ;;
esac`;

/** What a case leaves: what dnf was asked, and the world it was asked in, whose own folders are always the same. */
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
