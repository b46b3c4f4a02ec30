import { apt } from '../../../../../../src/fleet/packages/apt/apt.ts';
import { platformOf } from '../../../../../../src/fleet/packages/distribution.ts';
import type { Question } from '../../../../../../src/fleet/packages/simulation.ts';
import type { Transaction } from '../../../../../../src/fleet/packages/transaction.ts';
import { factsOf } from '../../../../../support/host.ts';
import type { ScratchHost } from '../../../../../support/scratch/host.ts';
import { aptHost } from '../apt-host.ts';

const system = platformOf(factsOf()) as NonNullable<ReturnType<typeof platformOf>>;
const site = {
  mirrors: { docker: 'http://mirror/docker,x', toolkit: 'http://mirror/kit' },
  proxy: { noProxy: ['.lab'] },
};

export function ask(transaction: Transaction, parts: Partial<Question> = {}): string {
  return apt.simulator.script({
    asked: [{ key: 'docker-install-1', transaction }],
    missing: [],
    system,
    site,
    ...parts,
  });
}

export const dockerUri = 'http://mirror/docker,x/debian';
export const dockerSource = 'azp-fleet-docker.sources';

/** What the script's world was like when apt was asked, where a case has a file /run/look. */
const world = '/run/seen';

/** Answers of apt to what it would do; its own words are kept in files that a case may replace. */
export function simulatedHost(host: ScratchHost): void {
  aptHost(host);
  host
    .file(
      '/var/lib/dpkg/status',
      'Package: tool\nStatus: hold ok installed\n\nPackage: other\nStatus: hold ok installed\n',
    )
    .file('/run/answer', 'Inst tool [1.9] (2.0 Docker:x [amd64])\n')
    .file('/run/listened', `Get:1 ${dockerUri} bookworm InRelease [9 kB]\n`)
    .file(`/etc/apt/sources.list.d/${dockerSource}`, 'ours')
    .program('timeout', 'shift 3; exec "$@"')
    .program('id', 'echo 42; echo "no such user" >&2; exit 1', { silent: true })
    .program('mktemp', 'echo "$*" >>/run/made; mkdir -m 700 "$2"; echo "$2"', { silent: true })
    .program(
      'apt-config',
      'printf "%s\\n" "Acquire::IndexTargets::deb::Packages::MetaKey \\"x\\";" "Acquire::IndexTargets::deb::Contents-deb::MetaKey \\"x\\";" "Acquire::IndexTargets::deb::CNF::MetaKey \\"x\\";" "Acquire::IndexTargets::deb-src::Sources::MetaKey \\"x\\";" "Acquire::Other::MetaKey"',
    )
    .program('apt-mark', 'printf "other\\nlibfoo\\n"')
    .file('/root/azp-fleet-simulation.here')
    .folder('/run/other/azp-fleet-simulation.deep')
    .age('/run/other/azp-fleet-simulation.deep', 70 * 60)
    .age('/run/other', 5)
    .program('apt-get', aptGet);
}

const aptGet = `case " $* " in
  *' update '*) echo "$http_proxy $no_proxy"; cat /run/listened; wc -c <&0; [ ! -e /run/deaf ] || { cat /run/deaf >&2; exit 100; } ;;
  *' download '*) echo deb >"$3_1.deb" ;;
  *'Component: contrib'*) [ -e /run/archive ] || echo contrib ;;
  *'Component: main'*) echo 'http://deb.debian.org/debian bookworm /etc/apt/main.list:1' ;;
  *' indextargets '*) [ -e /run/no-list ] || for file in "\${APT_CONFIG%/*}"/sources.list.d/*; do echo "$file:1"; done; exit 0 ;;
  *' --print-uris '*) cat /run/room 2>/dev/null ;;
  *' -s '*)
    [ ! -e /run/look ] || [ -e ${world} ] || cp -R "\${APT_CONFIG%/*}" ${world}
    case $* in *--ignore-hold*) echo 'a word' >&2; cat /run/freed 2>/dev/null; [ -e /run/freed ]; exit ;; esac
    cat /run/answer
    [ ! -e /run/refused ] || { cat /run/refused >&2; exit 100; } ;;
esac`;
