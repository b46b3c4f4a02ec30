import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { aptPrelude } from '../../../../../src/fleet/packages/apt/prelude.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { sh } from '../../../../../src/shared/base/shell.ts';
import { factsOf } from '../../../../support/host.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { aptCache, aptGetCall, aptHost, offered, updated, updating } from './apt-host.ts';

const system = platformOf(factsOf());
if (system === undefined) throw new Error('no system');
const out = '/azp-fleet-gathered';
const proxy = { noProxy: ['.lab'] };
const site = { mirrors: { docker: 'http://mirror/docker' }, proxy };
const source = apt.source('docker', system, site);

const driver: Transaction = {
  packages: [{ name: 'drv', version: { branch: '580' } }],
  remove: ['old'],
  mayRemove: [],
  proxy,
  before: 'source_added file nvidia\npin drv-pinning',
};
const tool: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool' }],
  remove: [],
  mayRemove: [],
  proxy,
  before: 'pin drv-pinning',
};

/**
 * Packages by their names in apt's command line: their file in apt's cache, and its name without an epoch. The shell
 * splits at the commas, where a version is not quoted.
 */
const archive = {
  'ca-certificates': ['ca-certificates_9_all.deb', 'ca-certificates_9_all.deb'],
  'drv-pinning': ['drv-pinning_580,1_all.deb', 'drv-pinning_580,1_all.deb'],
  'drv=580.9,1': ['drv_580.9,1_amd64.deb', 'drv_580.9,1_amd64.deb'],
  tool: ['tool_5%3a2,0_amd64.deb', 'tool_2,0_amd64.deb'],
} as const satisfies Record<string, readonly [cached: string, plain: string]>;
type Word = keyof typeof archive;

const nameOf = (word: Word): string => word.replace(/=.*/, '');
const resolved = (word: Word): string => {
  const [, version = '', architecture = ''] = /_([^_]+)_(\w+)\.deb$/.exec(archive[word][0]) ?? [];
  return `Package: ${nameOf(word)}
Version: ${version.replace('%3a', ':')}
Architecture: ${architecture}
Depends: libc6 (>= 2.36),
 bash
`;
};
const fields = (word: Word): string =>
  `${resolved(word)}Maintainer: Ann <ann@lab>\nDescription: it\n is a package\nConflicts: old\n`;
const stanza = (word: Word): string => {
  const [, plain] = archive[word];
  const text = fields(word);
  return `${resolved(word)}Conflicts: old
Filename: ./pool/${plain}
Size: ${text.length}
SHA256: ${sha256(text)}

`;
};

/** Fetches what is requested, and says which pins it read. */
const aptGet = `[ "$no_proxy" = .lab ] || echo 'without the proxy'
case " $* " in *' --download-only install '*) ;; *) exit ;; esac
asked=
for word; do
  case $word in Dir::Cache::Archives=*) cache=\${word#*=} ;; esac
  case $word in -*) continue ;; esac
  if [ -n "$asked" ]; then
    [ -d "$cache/partial" ] || exit 100
    cp "/run/archive/$word/"*.deb "$cache" 2>/dev/null || { echo "E: Unable to locate $word" >&2; exit 100; }
    echo "$word by the pins of" /etc/apt/preferences.d/*
  fi
  if [ "$word" = install ]; then asked=yes; fi
done`;

const dpkgDeb = `case $1 in
  --fsys-tarfile) [ -e "$2" ] && [ "$#" -eq 2 ] && /bin/tar -cf - -C "/run/content" . ;;
  -f) if [ -n "\${3:-}" ]; then sed -n "s/^$3: //p" "$2"; else cat "$2"; fi ;;
esac`;

/** A container of the system's image, with the pins of its maker. */
function container(host: ScratchHost): void {
  aptHost(host);
  offered(host, 'drv 590.1', 'drv 580.9,1', 'drv 580.8');
  for (const [word, [file]] of Object.entries(archive))
    host.file(`/run/archive/${word}/${file}`, fields(word as Word));
  host
    .file('/etc/apt/preferences.d/image', 'Package: bash\n')
    .file('/etc/apt/apt.conf.d/docker-clean')
    .file('/etc/apt/apt.conf.d/zz-azp-fleet', 'of an earlier attempt')
    .file('/run/content/etc/apt/preferences.d/drv-pinning', 'Package: drv*\n')
    .file('/run/content/usr/share/doc/drv-pinning/copyright')
    .program('/usr/lib/apt/apt-helper', 'printf "the key" >"$5"', { silent: true })
    .program('id', 'exit 1', { silent: true })
    .program('apt-get', aptGet)
    .program('apt-cache', aptCache)
    .program('dpkg-deb', dpkgDeb, { silent: true })
    .program('tar', 'case $1 in -cf) echo "$*"; ls "$4" "$5" ;; *) exec /bin/tar "$@" ;; esac', {
      silent: true,
    });
}

const take = (word: string): string =>
  aptGetCall(
    `-o Dir::State::status=${out}/nothing-installed -o Dir::Cache::Archives=${out}/pool --download-only install ${word}`,
  );
const begun = {
  ...updated,
  '/etc/apt/apt.conf.d/docker-clean': 'gone',
  '/etc/apt/apt.conf.d/zz-azp-fleet': '644 APT::Sandbox::User "root";\nAcquire::Retries "3";\n',
  [out]: '755 /',
  [`${out}/keys`]: '755 /',
  [`${out}/pool`]: '755 /',
};
const pooled = (words: readonly Word[], at: 0 | 1) =>
  Object.fromEntries(words.map((word) => [`${out}/pool/${archive[word][at]}`, `644 ${fields(word)}`]));
const gathered = (words: readonly Word[]) => ({
  ...begun,
  ...pooled(words, 1),
  [`${out}/Packages`]: `644 ${words.map(stanza).join('')}`,
});
const archived = (words: readonly Word[], keys = ''): string =>
  `-cf - Packages keys pool\nkeys:\n${keys}\npool:\n${words.map((word) => `${archive[word][1]}\n`).join('')}`;

const authorities: Word = 'ca-certificates';
const image = '/etc/apt/preferences.d/image';
const fetchedAuthorities = `${authorities} by the pins of ${image}\n`;

export const gatherSuite: ScriptSuite = {
  name: 'gathering packages with apt for hosts without a network',
  elsewhere: [aptPrelude, driver.before ?? '', sh`${source.script}`.slice(1, -1)],
  given: container,
  cases: [
    {
      name: "fetches each transaction by its own pins and the image's, and lists all packages",
      script: apt.offline.gather({ transactions: [driver, tool, driver], system, site }),
      run: { umask: '077' },
      after: {
        stdout: archived([authorities, 'drv-pinning', 'drv=580.9,1', 'tool'], 'docker\n'),
        stderr: [
          // What apt's helper printed about the key.
          '\n',
          fetchedAuthorities,
          `drv-pinning by the pins of ${image}\n`,
          `drv=580.9,1 by the pins of /etc/apt/preferences.d/drv-pinning ${image}\n`,
          `drv-pinning by the pins of /etc/apt/preferences.d/drv-pinning ${image}\n`,
          `drv-pinning by the pins of ${image}\n`,
          `tool by the pins of /etc/apt/preferences.d/drv-pinning ${image}\n`,
          `drv-pinning by the pins of /etc/apt/preferences.d/drv-pinning ${image}\n`,
          `drv-pinning by the pins of ${image}\n`,
          `drv=580.9,1 by the pins of /etc/apt/preferences.d/drv-pinning ${image}\n`,
          `drv-pinning by the pins of /etc/apt/preferences.d/drv-pinning ${image}\n`,
        ].join(''),
        calls: [
          'apt-get indextargets',
          ...updating,
          take(authorities),
          take('drv-pinning'),
          'apt-cache madison drv',
          take('--allow-downgrades drv=580.9,1 drv-pinning'),
          take('drv-pinning'),
          take('--allow-downgrades tool drv-pinning'),
          take('drv-pinning'),
          'apt-cache madison drv',
          take('--allow-downgrades drv=580.9,1 drv-pinning'),
        ],
        files: {
          ...gathered([authorities, 'drv-pinning', 'drv=580.9,1', 'tool']),
          '/etc/apt/keyrings': '755 /',
          [source.keyFile]: '644 the key',
          [source.file]: `644 ${source.text}`,
          [`${out}/keys/docker`]: '644 the key',
        },
      },
    },
    {
      name: "asks the site's mirror instead of the archives of Debian and Ubuntu",
      script: apt.offline.gather({
        transactions: [],
        system,
        site: { mirrors: { apt: 'http://mirror/archive' }, proxy },
      }),
      given: (host) =>
        host
          .file(
            '/etc/apt/sources.list',
            'deb http://security.ubuntu.com/ubuntu a main\ndeb http://own/x a main\n',
          )
          .file('/etc/apt/sources.list.d/image.sources', 'URIs: https://deb.debian.org/debian\n')
          .folder('/etc/apt/sources.list.d/folder'),
      after: {
        stdout: archived([authorities]),
        stderr: fetchedAuthorities,
        calls: [...updating, take(authorities)],
        files: {
          ...gathered([authorities]),
          '/etc/apt/sources.list': '644 deb http://mirror/archive/ubuntu a main\ndeb http://own/x a main\n',
          '/etc/apt/sources.list.d/image.sources': '644 URIs: http://mirror/archive/debian\n',
        },
      },
    },
    {
      name: 'lists nothing if a package cannot be fetched',
      script: apt.offline.gather({ transactions: [{ ...driver, before: 'bring gone' }], system, site }),
      after: {
        code: 100,
        stderr: `${fetchedAuthorities}drv=580.9,1 by the pins of ${image}\nE: Unable to locate gone\n`,
        calls: [
          ...updating,
          take(authorities),
          'apt-cache madison drv',
          take('--allow-downgrades drv=580.9,1 gone'),
        ],
        files: {
          ...begun,
          ...pooled(['ca-certificates', 'drv=580.9,1'], 0),
          [`${out}/nothing-installed`]: '644 ',
          [`${out}/pins`]: '755 /',
          [`${out}/pins/image`]: '644 Package: bash\n',
          [`${out}/pool/partial`]: '755 /',
        },
      },
    },
  ],
};
