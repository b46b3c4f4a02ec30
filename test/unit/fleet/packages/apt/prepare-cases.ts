import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { debian, ubuntu } from '../../../../../src/fleet/packages/apt/names.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { aptGetCall, aptHost, database, offered, updated, updating } from './apt-host.ts';

const spec = { install: true, branch: '580', flavor: 'auto', method: 'repo' } as const;

/** Returns the script that contains the text, and the lines around the text. */
function before(text: string) {
  const script = apt.install({
    vendor: 'nvidia',
    packages: [{ name: 'drv' }],
    remove: [],
    mayRemove: ['old'],
    proxy: { noProxy: [] },
    before: text,
  });
  return { script, around: script.split(text) };
}
const ubuntuScript = before(ubuntu.driver.prepare(spec, { mirrors: {} }));
const debianScript = before(debian('535').driver.prepare({ ...spec, version: '580.95.05' }, { mirrors: {} }));
const ownScript = before(debian('535').driver.prepare({ ...spec, method: 'distro' }, { mirrors: {} }));
const [onUbuntu, onDebian, ownDriver] = [ubuntuScript.script, debianScript.script, ownScript.script];

const contrib = '/etc/apt/sources.list.d/azp-fleet-contrib.sources';
const nonFree = '/etc/apt/sources.list.d/azp-fleet-non-free.sources';
const lists = '/run/azp-fleet/package-lists';
const opening = updating;
const installs = (name: string, flags = '') => [
  aptGetCall(`-s install ${flags}${name}`),
  aptGetCall(`install ${flags}${name}`),
];
/** Before the driver, in the same script. */
const first = (...calls: readonly string[]) => ({
  calls: [...opening, ...calls, ...installs('drv', '--allow-downgrades ')],
  files: updated,
});
const has = (component: string): string =>
  `apt-get indextargets --format '$(CODENAME) $(SOURCESENTRY)' 'Created-By: Packages' 'Component: ${component}'`;
const hasContrib = has('contrib');
const hasAll = ['contrib', 'non-free', 'non-free-firmware'].map(has);
const hasMain =
  "apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(SOURCESENTRY)' 'Created-By: Packages' 'Origin: Debian' 'Component: main'";
const text = (components: string, signed: string) =>
  `# Written by azp-fleet: what the NVIDIA driver needs of the archive beside main.
Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: ${components}
${signed}`;
const added = (signed: string) => `644 ${text('contrib', signed)}`;
/** The source exists and all lists are read: a later interruption leaves no list unread. */
const brought = (signed: string) => ({
  ...first(hasMain, hasContrib, 'apt-get indextargets', ...updating),
  stdout: `added ${contrib}: contrib\n`,
  files: { [contrib]: added(signed), ...updated },
});

/** Sets apt's list of its sources: `main` is in this file. `takes`: it accepts its sources with the added one. */
function archive(
  host: ScratchHost,
  file: string,
  text: string,
  takes = true,
  components: readonly string[] = [],
): void {
  host.file(file, text);
  const lines = components.map((each) => [each.split(' ', 1)[0], each.slice(each.indexOf(' ') + 1)]);
  host.program(
    'apt-get',
    `case $* in
${lines.map(([component, entry]) => `  *'Component: ${component}') echo '${entry}' ;;`).join('\n')}
  *'Component: contrib'* | *'Component: non-free'*) ;;
  *'Component: main'*)
    echo "bookworm http://deb.debian.org/debian bookworm ${file}:1"
    echo "bookworm-updates http://other/debian bookworm-updates /etc/apt/gone.list:7" ;;
  indextargets) echo targets; echo "a word" >&2; ${takes ? ':' : 'exit 100'} ;;
esac`,
  );
}

export const prepareSuite: ScriptSuite = {
  name: 'packages and sources that a driver needs first',
  elsewhere: [...ubuntuScript.around, ...debianScript.around, ...ownScript.around],
  given: (host) => {
    aptHost(host);
    host.program('apt-get', 'case $* in *contrib*) echo contrib; echo contrib ;; esac');
  },
  cases: [
    {
      name: 'are none if all are installed',
      script: onUbuntu,
      after: first(),
    },
    {
      name: 'are the package that pins the branch, if the vendor has one',
      script: onUbuntu,
      given: (host) => offered(host, 'nvidia-driver-pinning-580 580'),
      after: first(...installs('nvidia-driver-pinning-580')),
    },
    {
      name: 'are the package that pins the version, if one was requested',
      script: onDebian,
      given: (host) => offered(host, 'nvidia-driver-pinning-580 580', 'nvidia-driver-pinning-580.95.05 580'),
      after: first(hasMain, hasContrib, ...installs('nvidia-driver-pinning-580.95.05')),
    },
    {
      name: 'do not include the pin of another branch, which is removed with its settings',
      script: onUbuntu,
      given: (host) => {
        offered(host, 'nvidia-driver-pinning-580 580');
        host.file(
          database,
          'nvidia-driver-pinning-595 595 config-files\nnvidia-driver-assistant 1 config-files\nnvidia-driver-pinning-570 570 installed\n',
        );
      },
      after: first(...installs('nvidia-driver-pinning-580'), 'dpkg --purge nvidia-driver-pinning-595'),
    },
    {
      name: "is Debian's contrib with the key of main, and the lists are read again",
      script: onDebian,
      given: (host) => {
        host.file(`${contrib}.new`, 'cut off, and longer than the new text'.repeat(9)).file(lists);
        archive(
          host,
          '/etc/apt/sources.list.d/debian,main.sources',
          'Types: deb\nSigned-By: /usr/share/keyrings/debian.gpg\nSigned-By: /other\n',
        );
      },
      after: {
        ...brought(''),
        files: {
          [contrib]: added('Signed-By: /usr/share/keyrings/debian.gpg\n'),
          [`${contrib}.new`]: 'gone',
          [lists]: '755 ',
        },
      },
    },
    {
      name: "is Debian's contrib with the key of a one-line entry",
      script: onDebian,
      given: (host) =>
        archive(
          host,
          '/etc/apt/sources.list',
          'deb [arch=amd64 signed-by=/usr/share/keyrings/debian.gpg] http://deb.debian.org/debian bookworm main\n',
        ),
      after: brought('Signed-By: /usr/share/keyrings/debian.gpg\n'),
    },
    {
      name: "is Debian's contrib, without a key where main has none",
      script: onDebian,
      given: (host) =>
        archive(
          host,
          '/etc/apt/sources.list',
          'deb [arch=amd64] http://deb.debian.org/debian bookworm main\n',
        ),
      after: brought(''),
    },
    {
      name: 'are removed again if apt rejects them',
      script: onDebian,
      given: (host) =>
        archive(host, '/etc/apt/sources.list', 'deb http://deb.debian.org/debian bookworm main\n', false),
      after: {
        ...first(hasMain, hasContrib, 'apt-get indextargets'),
        files: { '/run/azp-fleet': '755 /' },
      },
    },
    {
      name: 'are left out if no Debian archive is read',
      script: onDebian,
      given: (host) => host.program('apt-get', ''),
      after: first(hasMain, hasContrib),
    },
    {
      name: 'are left out if the entry cannot be read',
      script: onDebian,
      given: (host) =>
        host.program(
          'apt-get',
          'case $* in *main*) echo "bookworm http://x bookworm /etc/apt/gone.list:1" ;; esac',
        ),
      after: first(hasMain, hasContrib),
    },
    {
      name: "is contrib and non-free for Debian's own driver, without pins",
      script: ownDriver,
      given: (host) => {
        archive(host, '/etc/apt/sources.list', 'deb http://deb.debian.org/debian bookworm main\n');
        offered(host, 'nvidia-driver-pinning-580 580');
      },
      after: {
        ...first(hasMain, ...hasAll, 'apt-get indextargets', ...updating),
        stdout: `added ${nonFree}: contrib non-free non-free-firmware\n`,
        files: { [nonFree]: `644 ${text('contrib non-free non-free-firmware', '')}`, ...updated },
      },
    },
    {
      name: 'are only the missing components',
      script: ownDriver,
      given: (host) => {
        archive(host, '/etc/apt/sources.list', 'deb http://deb.debian.org/debian bookworm main\n', true, [
          'contrib bookworm /etc/apt/sources.list.d/azp-fleet-contrib.sources:3',
          'non-free-firmware bookworm /etc/apt/sources.list:1',
        ]);
      },
      after: {
        ...first(hasMain, ...hasAll, 'apt-get indextargets', ...updating),
        stdout: `added ${nonFree}: non-free\n`,
        files: { [nonFree]: `644 ${text('non-free', '')}`, ...updated },
      },
    },
    {
      name: 'are also those that only the source of another release has',
      script: ownDriver,
      given: (host) => {
        archive(host, '/etc/apt/sources.list', 'deb http://deb.debian.org/debian bookworm main\n', true, [
          'contrib bookworm /etc/apt/sources.list:1',
          'non-free bullseye /etc/apt/sources.list.d/older.list:1',
          'non-free-firmware bookworm-backports /etc/apt/sources.list.d/backports.list:1',
        ]);
      },
      after: {
        ...first(hasMain, ...hasAll, 'apt-get indextargets', ...updating),
        stdout: `added ${nonFree}: non-free non-free-firmware\n`,
        files: { [nonFree]: `644 ${text('non-free non-free-firmware', '')}`, ...updated },
      },
    },
    {
      name: 'are none if the added source has them already',
      script: ownDriver,
      given: (host) => {
        host.file(nonFree, text('contrib non-free', ''));
        archive(host, '/etc/apt/sources.list', 'deb http://deb.debian.org/debian bookworm main\n', true, [
          `contrib bookworm ${nonFree}:3`,
          `non-free bookworm ${nonFree}:3`,
          'non-free-firmware bookworm /etc/apt/sources.list:1',
        ]);
      },
      after: first(hasMain, ...hasAll),
    },
  ],
};
