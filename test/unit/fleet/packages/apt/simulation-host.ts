import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { debian } from '../../../../../src/fleet/packages/apt/names.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import type { Question } from '../../../../../src/fleet/packages/simulation.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import { factsOf } from '../../../../support/host.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { aptGetCall, aptHost } from './apt-host.ts';

export const dockerUri = 'http://mirror/docker,x/debian';

const system = platformOf(factsOf()) as NonNullable<ReturnType<typeof platformOf>>;
export const site = {
  mirrors: { docker: 'http://mirror/docker,x', toolkit: 'http://mirror/kit' },
  proxy: { noProxy: ['.lab'] },
};
/** A site with mirrors of all vendors. */
export const mirrored = {
  mirrors: { ...site.mirrors, nvidiaDriver: 'http://mirror/cuda' },
  caPem: "it's PEM",
};
/** apt's words about these mirrors. */
export const mirrorsHeard = `Get:1 ${dockerUri} x
Get:2 http://mirror/kit/stable/deb/amd64 x
Get:3 http://mirror/cuda/debian12/x86_64 x
`;

export const docker: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0,1' } }, { name: 'extra' }],
  remove: ['old'],
  mayRemove: [],
  proxy: { noProxy: [] },
};
export const driver: Transaction = {
  vendor: 'nvidia',
  packages: [
    { name: 'drv', version: { branch: '580,1' } },
    { name: 'drv-dkms', version: { branch: '580,1' } },
  ],
  sameVersion: true,
  siblings: ['drv*', 'libdrv*'],
  optional: ['persist'],
  variants: ['drv-[0-9]*', 'drv'],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
  before: [
    debian('535').driver.build(
      {
        kernels: [{ release: '6.1.0-lab', headers: false, driver: false }],
        lacksToBuild: ['gcc-12'],
        packages: {},
        held: [],
      },
      'all',
    ).script,
    debian('535').driver.prepare(
      { install: true, branch: '580', flavor: 'auto', method: 'repo' },
      { mirrors: {} },
    ),
  ].join('\n'),
};
export const plain = ask(docker);

export const made = { '/run/made': '644 -d /run/azp-fleet-simulation.XXXXXX\n' };
export const heard = ` .lab\nGet:1 ${dockerUri} bookworm InRelease [9 kB]\n0\n`;
export const read = [
  'dpkg --print-architecture',
  'apt-config dump Acquire::IndexTargets',
  'timeout -k 5 90 apt-get -q update -o APT::Update::Error-Mode=any',
  'apt-get -q update -o APT::Update::Error-Mode=any',
];
export const listed = "apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages'";
export const asked = aptGetCall('-s install --allow-downgrades tool=5:2.0,1-1 extra old-');
export const freed = aptGetCall(
  '-s --ignore-hold --allow-change-held-packages install --allow-downgrades tool=5:2.0,1-1 extra old-',
);
export const uris = aptGetCall('--print-uris install --allow-downgrades tool=5:2.0,1-1 extra old-');
/** The simulation folder of a host without own sources. */
export const emptyWorld = {
  '/run/seen': '755 /',
  '/run/seen/answer': '644 ',
  '/run/seen/apt.conf': `644 Dir::Etc::Parts "/run/azp-fleet-simulation.XXXXXX/conf.d";
Dir::Etc::Main "/run/azp-fleet-simulation.XXXXXX/last.conf";
`,
  '/run/seen/cache': '755 /',
  '/run/seen/cache/archives': '755 /',
  '/run/seen/cache/archives/partial': '755 /',
  '/run/seen/conf.d': '755 /',
  '/run/seen/keys': '755 /',
  '/run/seen/last.conf': `644 Dir::State::Lists "/run/azp-fleet-simulation.XXXXXX/lists";
Dir::State::Status "/run/azp-fleet-simulation.XXXXXX/status";
Dir::Cache "/run/azp-fleet-simulation.XXXXXX/cache";
Dir::Cache::Archives "archives";
Dir::Cache::PkgCache "pkgcache.bin";
Dir::Cache::SrcPkgCache "srcpkgcache.bin";
Dir::Log "/run/azp-fleet-simulation.XXXXXX";
Dir::Log::Planner "";
Dir::Etc::SourceList "/run/azp-fleet-simulation.XXXXXX/sources.list";
Dir::Etc::SourceParts "/run/azp-fleet-simulation.XXXXXX/sources.list.d";
Dir::Etc::PreferencesParts "/run/azp-fleet-simulation.XXXXXX/preferences.d";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
#clear Acquire::Languages;
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
Acquire::IndexTargets::deb-src::Sources::DefaultEnabled "false";
`,
  '/run/seen/lists': '755 /',
  '/run/seen/lists/partial': '755 /',
  '/run/seen/pins': '755 /',
  '/run/seen/preferences.d': '755 /',
  '/run/seen/sources.list.d': '755 /',
  '/run/seen/sources.list.d/azp-fleet-docker.sources': '-> /etc/apt/sources.list.d/azp-fleet-docker.sources',
  '/run/seen/update.words': `644  .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease [9 kB]
0
`,
  '/run/seen/words': '644 ',
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

export const dockerSource = 'azp-fleet-docker.sources';

/** The copy of the simulation folder at apt's call, if the case has a file /run/copy. */
const world = '/run/seen';

/** Answers of apt to a simulation, from files that a case may replace. */
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
    .program('mktemp', 'echo "$*" >>/run/made; mkdir -m 700 "$2"; cp /root/*unquoted* "$2"; echo "$2"', {
      silent: true,
    })
    .program(
      'apt-config',
      'printf "%s\\n" "Acquire::IndexTargets::deb::Packages::MetaKey \\"x\\";" "Acquire::IndexTargets::deb::Contents-deb::MetaKey \\"x\\";" "Acquire::IndexTargets::deb::CNF::MetaKey \\"x\\";" "Acquire::IndexTargets::deb-src::Sources::MetaKey \\"x\\";" "Acquire::Other::MetaKey"',
    )
    .file('/root/azp-fleet-simulation.here')
    .folder('/run/other/azp-fleet-simulation.deep')
    .age('/run/other/azp-fleet-simulation.deep', 70 * 60)
    .age('/run/other', 5)
    .program('apt-get', simulatedAptGet);
}

/** apt-get with these answers. */
export const simulatedAptGet = `case " $* " in
  *' update '*) echo "$http_proxy $no_proxy"; cat /run/listened; wc -c <&0; [ ! -e /run/deaf ] || { cat /run/deaf >&2; exit 100; } ;;
  *' download '*) echo deb >"$3_1.deb" ;;
  *'Component: contrib'*) [ -e /run/archive ] || echo contrib ;;
  *'Component: main'*) echo 'bookworm http://deb.debian.org/debian bookworm /etc/apt/main.list:1' ;;
  *' indextargets '*) [ -e /run/no-list ] || for file in "\${APT_CONFIG%/*}"/sources.list.d/*; do echo "$file:1"; done; exit 0 ;;
  *' --fix-broken '*) cat /run/incomplete 2>/dev/null ;;
  *' --print-uris '*) echo 'a word' >&2; cat /run/uris 2>/dev/null ;;
  *' -s '*)
    [ ! -e /run/copy ] || [ -e ${world} ] || { cp -R "\${APT_CONFIG%/*}" ${world}; rm ${world}/*unquoted*; }
    case $* in *--ignore-hold*) echo 'a word' >&2; cat /run/freed 2>/dev/null; [ -e /run/freed ]; exit ;; esac
    cat /run/answer
    [ ! -e /run/refused ] || { cat /run/refused >&2; exit 100; } ;;
esac`;
