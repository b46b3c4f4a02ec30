import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import {
  bringFunctions,
  consequenceFilters,
  dnfPrelude,
} from '../../../../../src/fleet/packages/dnf/prelude.ts';
import { withDkms } from '../../../../../src/fleet/packages/dnf/repositories.ts';
import { sourceFunctions } from '../../../../../src/fleet/packages/dnf/source.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { sh } from '../../../../../src/shared/base/shell.ts';
import type { ScriptCase, ScriptSuite } from '../../../../support/scratch/case.ts';
import { bareOf } from '../../steps/enterprise-cases.ts';
import { fileAddress, unavailable } from './dnf-output.ts';
import { container, out, repository } from './gather-host.ts';

const system = platformOf(bareOf('rocky', '9.5'));
if (system === undefined) throw new Error('no system');
const proxy = { http: 'http://proxy:3128', noProxy: ['.lab'] };
const site = { mirrors: { docker: 'http://mirror/docker' }, proxy };
const tool: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0,1' } }, { name: 'extra' }],
  remove: ['old'],
  mayRemove: [],
  optional: ['more'],
  proxy,
};
const driver: Transaction = {
  packages: [{ name: 'drv', version: { branch: '580' } }],
  remove: [],
  mayRemove: [],
  proxy,
  before: `${withDkms({ release: 'epel-release', major: '9' }, { mirrors: {} })}\nbring headers gcc`,
};
const script = (...transactions: readonly Transaction[]): string =>
  dnf.offline.gather({ transactions, system, site });

const root = `dnf --installroot=${out}/root --releasever=/ '--setopt=*.gpgcheck=1'`;
const options = `--setopt=install_weak_deps=0 --setopt=best=1 --setopt=clean_requirements_on_remove=0 --setopt=skip_if_unavailable=0`;
const query = `-q repoquery --available --arch=x86_64,noarch --qf '%{epoch}:%{version}-%{release}'`;
const download = `-y --downloadonly --downloaddir=${out}/pool install`;
const lists = (also: string): readonly string[] => [
  'dnf -q repolist --all',
  `${root}${also} -q '--disablerepo=*' repoquery --duplicates`,
  `${root}${also} ${options} --refresh makecache`,
  `${root}${also} ${options} ${download} 'dnf-command(versionlock)'`,
];
const more = ' --enablerepo=crb --enablerepo=ol9_UEKR8';
const ofDocker = [
  'curl -fsSL --retry 3 --connect-timeout 20 --max-time 120 -o /tmp/tmp.XXXXXX/key http://mirror/docker/centos/gpg',
  ...lists(more),
];
const source = dnf.source('docker', system, site);
const begun = {
  '/run/azp-fleet': '755 /',
  '/run/azp-fleet/package-lists': '755 ',
  [`${out}/keys`]: '755 /',
  [`${out}/pool`]: '755 /',
  [`${out}/root`]: '755 /',
};
const withDocker = {
  ...begun,
  '/etc/pki': '755 /',
  '/etc/pki/rpm-gpg': '755 /',
  [source.keyFile]: '644 BEGIN PGP PUBLIC KEY\n',
  [source.file]: `644 ${source.text}`,
  [`${out}/keys/docker`]: '644 BEGIN PGP PUBLIC KEY\n',
};

type Pooled = readonly [file: string, word: keyof typeof repository];
/** Files by rpm's names, in the order of the pool. */
const pool = [
  ['drv-580.9,1-1.el9.x86_64.rpm', 'drv-580.9,1'],
  ['extra-9-1.el9.x86_64.rpm', 'extra'],
  ['gcc-11^2-1.el9.x86_64.rpm', 'gcc'],
  ['headers-1-1.el9.x86_64.rpm', 'headers'],
  ['more-2.0,1-1.el9.x86_64.rpm', 'more-2.0,1'],
  ['python3-dnf-plugin-versionlock-4.3.0-1.el9.x86_64.rpm', 'dnf-command(versionlock)'],
  ['tool-2.0,1-1.el9.x86_64.rpm', 'tool-2.0,1'],
] as const satisfies readonly Pooled[];
const [drv, extra, gcc, headers, moreTool, plugin, toolFile] = pool;

/** Returns the XML of a package; `format`: its relations and files. */
function entry([file, word]: Pooled, name: string, evr: string, ...format: readonly string[]): string {
  const text = repository[word];
  return `<package type="rpm"><name>${name}</name><arch>x86_64</arch><version ${evr}/>
<checksum type="sha256" pkgid="YES">${sha256(text)}</checksum><size package="${text.length}" installed="12"/>
<location href="pool/${file}"/>
<format>
${format.map((line) => `${line}\n`).join('')}</format></package>
`;
}

function index(...entries: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="${entries.length}">
${entries.join('')}</metadata>
`;
}

const lock = (of: Pooled, ...asked: readonly string[]): string =>
  entry(
    of,
    'python3-dnf-plugin-versionlock',
    'epoch="0" ver="4.3.0" rel="1.el9"',
    '<rpm:provides>',
    '<rpm:entry name="dnf-command(versionlock)"/>',
    '</rpm:provides>',
    '<rpm:requires>',
    '<rpm:entry name="/usr/share/tool/data"/>',
    '</rpm:requires>',
    ...asked,
  );

/** Only provides that others may require; no dependencies on rpm's features; nothing twice. */
const whole = index(
  entry(drv, 'drv', 'epoch="3" ver="580.9,1" rel="1.el9"'),
  entry(extra, 'extra', 'epoch="0" ver="9" rel="1.el9"', '<file>/etc/extra.conf</file>'),
  entry(gcc, 'gcc', 'epoch="0" ver="11^2" rel="1.el9"'),
  entry(headers, 'headers', 'epoch="0" ver="1" rel="1.el9"'),
  entry(
    moreTool,
    'more',
    'epoch="0" ver="2.0,1" rel="1.el9"',
    '<rpm:requires>',
    '<rpm:entry name="tool" flags="GT" epoch="1" ver="1"/>',
    '</rpm:requires>',
  ),
  lock(plugin),
  entry(
    toolFile,
    'tool',
    'epoch="5" ver="2.0,1" rel="1.el9"',
    '<rpm:provides>',
    '<rpm:entry name="tool" flags="EQ" epoch="5" ver="2.0" rel="1.el9"/>',
    '<rpm:entry name="a&amp;b&lt;c&gt;&quot;d&quot;" flags="GE" epoch="0" ver="1"/>',
    '</rpm:provides>',
    '<rpm:requires>',
    '<rpm:entry name="(gcc if make)"/>',
    '<rpm:entry name="bash" flags="LT" epoch="0" ver="5"/>',
    '</rpm:requires>',
    '<rpm:conflicts>',
    '<rpm:entry name="other" flags="LE" epoch="0" ver="4" rel="2"/>',
    '</rpm:conflicts>',
    '<rpm:obsoletes>',
    '<rpm:entry name="old" flags="LT" epoch="0" ver="3"/>',
    '</rpm:obsoletes>',
    ...[
      '/etc/tool.conf',
      '/usr/bin/tool',
      '/usr/libexec/tool',
      '/usr/lib/sendmail',
      '/usr/share/tool/data',
    ].map((path) => `<file>${path}</file>`),
  ),
);

const gathered = (text: string, files: readonly Pooled[]) => ({
  [`${out}/primary.xml`]: `644 ${text}`,
  [`${out}/repodata`]: '755 /',
  ...Object.fromEntries(files.map(([file, word]) => [`${out}/pool/${file}`, `644 ${repository[word]}`])),
});
const archived = (text: string, files: readonly Pooled[], key: string): string =>
  `-cf - primary.xml keys pool\n${text}${files.map(([file]) => `pool/${file}\n`).join('')}keys/${key}\n`;

const ofTool = [
  ...ofDocker,
  `${root}${more} ${options} ${query} tool`,
  `${root}${more} ${options} ${query} more`,
  `${root}${more} ${options} ${download} tool-2.0,1 extra more-2.0,1`,
];

/** The case of a transaction that dnf cannot fetch; `words`: its output. `calls`: those after the first attempt. */
function failed(
  name: string,
  words: string,
  problem: readonly [what: string, expected: string, seen: string],
  { between = '', calls = [] }: { readonly between?: string; readonly calls?: readonly string[] } = {},
): ScriptCase {
  const [what, expected, seen] = problem;
  return {
    name,
    script: script(tool),
    given: (host) => host.file('/run/refused', words),
    after: {
      code: 1,
      stderr: `(1/1): x.rpm
${words}${between}failed: ${what}
expected: ${expected}
seen: ${seen}
next: check the network, the proxy and the mirrors in the inventory, and run again
`,
      calls: [...ofTool, ...calls],
      files: { ...withDocker, [`${out}/pool/as ${plugin[1]}.rpm`]: `644 ${repository[plugin[1]]}` },
    },
  };
}

const noWay = 'Error: \n Problem: conflicting requests\n  - nothing provides x needed by y\n';
const unsigned = 'You have enabled checking\nProblem repository: [baseos]\n';
const impossible = ['dnf cannot fetch the packages', 'tool-2.0,1 extra more-2.0,1'] as const;
const nothing: Transaction = { packages: [], remove: ['old'], mayRemove: [], proxy };
const alone = index(lock(plugin));

export const gatherSuite: ScriptSuite = {
  name: 'gathering packages with dnf for hosts without a network',
  elsewhere: [
    dnfPrelude,
    consequenceFilters,
    sourceFunctions,
    bringFunctions,
    driver.before ?? '',
    ...[source.script, dnf.trust.script("it's PEM", proxy)].map((each) => sh`${each}`.slice(1, -1)),
  ],
  given: container,
  cases: [
    {
      name: 'fetches all into an empty root, also from disabled repositories, and lists them',
      script: script(tool, driver),
      after: {
        stdout: archived(whole, pool, 'docker'),
        stderr: '(1/1): x.rpm\n'.repeat(3),
        calls: [
          ...ofTool,
          `${root}${more} ${options} ${query} dkms`,
          `${root}${more} ${options} ${query} epel-release`,
          'dnf -y install epel-release',
          `${root}${more} ${options} ${query} dkms`,
          `${root}${more} ${options} ${query} drv`,
          `${root}${more} ${options} ${download} drv-580.9,1 headers gcc`,
        ],
        files: { ...withDocker, ...gathered(whole, pool), '/run/here': '644 epel-release\n' },
      },
    },
    failed('names packages that cannot be fetched', noWay, [
      ...impossible,
      'conflicting requests nothing provides x needed by y ',
    ]),
    failed('rejects packages without a signature', unsigned, [
      ...impossible,
      'packages not signed by a known key: [baseos]',
    ]),
    failed(
      'names the address of a package after two attempts to download it',
      unavailable,
      [`${fileAddress} cannot be read`, 'an answer within two attempts', 'Status code: 503'],
      {
        between: `not all packages could be fetched, trying again in 10 s\n${unavailable}`,
        calls: ['sleep 10', ...ofTool.slice(-1)],
      },
    ),
    {
      name: 'installs missing tools first, and trusts the authority of the site',
      script: dnf.offline.gather({
        transactions: [nothing],
        system,
        site: { ...site, caPem: "it's PEM" },
      }),
      run: { umask: '077' },
      given: (host) =>
        host.file('/run/known', 'baseos  Base  enabled\n').drop('/bin/find').program('update-ca-trust', ''),
      after: {
        stdout: archived(alone, [plugin], '*'),
        stderr: '(1/1): x.rpm\n',
        calls: ['update-ca-trust extract', 'dnf -y install /usr/bin/find', ...lists('')],
        files: {
          ...begun,
          ...gathered(alone, [plugin]),
          '/etc/pki': '755 /',
          '/etc/pki/ca-trust': '755 /',
          '/etc/pki/ca-trust/source': '755 /',
          '/etc/pki/ca-trust/source/anchors': '755 /',
          [dnf.trust.file]: "644 it's PEM",
          '/run/here': '644 /usr/bin/find\n',
        },
      },
    },
  ],
};
