import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import {
  bringFunctions,
  consequenceFilters,
  dnfPrelude,
} from '../../../../../src/fleet/packages/dnf/prelude.ts';
import { sourceFunctions } from '../../../../../src/fleet/packages/dnf/source.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { asked, database, dnfHost, has, lockList, offered, stateOf } from './dnf-host.ts';

const folder = '/var/lib/azp-fleet/packages';
const index = '<?xml version="1.0"?>\n<metadata packages="0">\n</metadata>\n';
const { offline } = dnf;
const bundled = offline.manager(index, "make it again, it's old");
const alone: Transaction = {
  packages: [{ name: 'tool', version: { release: '2.0' } }],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
};
const tool: Transaction = { vendor: 'docker', ...alone };
/** What adds a repository, and the name in the message. */
const additions = [
  ['a package', 'more_packages http://elsewhere/epel-release-9.rpm', 'epel-release-9.rpm'],
  ['a mirror', 'more_source epel /etc/yum.repos.d/epel.repo text http://mirror/key /key digest', 'epel'],
] as const;
const only = `dnf --setopt=reposdir=${folder}/sources --setopt=cachedir=${folder}/cache --disableplugin=subscription-manager --disableplugin=product-id --disableplugin=release-notification --disableplugin=generate_completion_cache`;
const options = `--setopt=install_weak_deps=0 --setopt=best=1 --setopt=clean_requirements_on_remove=0 --setopt=skip_if_unavailable=0`;
const lock = `${only} -q '--disablerepo=*' versionlock list`;
/** The beginning of every script: the metadata that dnf needs. */
const written = {
  [`${folder}/repodata/repomd.xml`]: `644 <repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>${sha256(index)}</revision><data type="primary">
<checksum type="sha256">${sha256(index)}</checksum><open-checksum type="sha256">${sha256(index)}</open-checksum>
<location href="repodata/primary.xml"/><timestamp>0</timestamp>
</data></repomd>
`,
  [`${folder}/sources/azp-fleet-bundle.repo`]: `644 [azp-fleet-bundle]
name=azp-fleet-bundle
baseurl=file://${folder}
enabled=1
gpgcheck=0
repo_gpgcheck=0
module_hotfixes=1
`,
};
const made = { ...written, [`${folder}/sources`]: '755 /' };
const looked = [
  `${only} -q '--disablerepo=*' repoquery --duplicates`,
  `${only} ${options} --refresh makecache`,
  lock,
];

export const folderSuite: ScriptSuite = {
  name: 'packages in a folder of a host with dnf',
  elsewhere: [
    dnfPrelude,
    consequenceFilters,
    sourceFunctions,
    bringFunctions,
    // An installation without a folder, around the functions that the folder replaces.
    ...[alone, ...additions.map(([, before]) => ({ ...alone, before }))].flatMap((each) =>
      dnf.install(each).split(/\n# Package names .*\n.*\nhold_all.*\nupdate ''\n/),
    ),
  ],
  given: (host) => {
    dnfHost(host);
    has(host, 'tool 5:1.9-1.el9');
    offered(host, 'tool 5:2.0-1.el9');
    host
      .file(offline.index, index)
      .file('/etc/yum.repos.d/rocky.repo', 'x')
      // Earlier lists of the host's sources.
      .file('/run/azp-fleet/package-lists');
  },
  cases: [
    {
      name: 'are the only ones that dnf uses, without reading the host’s lists',
      script: bundled.install(tool),
      after: {
        stdout: 'Complete!\n',
        calls: [
          ...looked,
          `${only} ${options} -q repoquery --available --arch=x86_64,noarch --qf '%{epoch}:%{version}-%{release}' tool`,
          `${only} ${options} --assumeno --allowerasing shell`,
          `${only} ${options} -y --allowerasing shell`,
        ],
        files: {
          ...made,
          ...asked('install tool-2.0 $\nrun $\n'.repeat(2)),
          [database]: `644 ${stateOf('tool 5:2.0-1.el9')}`,
          [lockList]: '644 tool-5:2.0-1.el9.*\n',
          '/run/azp-fleet/package-lists': 'gone',
        },
      },
    },
    ...additions.map(([what, before, name]) => ({
      name: `do not include packages of a repository that ${what} adds`,
      script: bundled.install({ ...tool, before }),
      after: {
        code: 1,
        stderr: `failed: the bundle lacks packages that ${name} provides
expected: all of them in the bundle
seen: none
next: make it again, it's old
`,
        calls: looked,
        files: {
          ...made,
          [lockList]: '644 tool-5:1.9-1.el9.*\n',
          '/run/azp-fleet/package-lists': '755 ',
        },
      },
    })),
    {
      name: 'include the versionlock plugin, also where another bundle was used before',
      script: bundled.hold(['tool']),
      given: (host) => {
        host.drop(lockList);
        for (const path of Object.keys(written)) host.file(path, 'of before\n');
      },
      after: {
        stdout: 'dnf did install dnf-command(versionlock)\n',
        calls: [lock, `${only} ${options} -y install 'dnf-command(versionlock)'`],
        files: {
          ...written,
          [lockList]: '644 tool-5:1.9-1.el9.*\n',
          '/run/azp-fleet/package-lists': 'gone',
        },
      },
    },
    {
      name: 'stay while the index names them',
      script: offline.tidy,
      given: (host) =>
        host
          .file(offline.index, '<location href="pool/a-1^2.rpm"/>\n<location href="pool/b.rpm"/>\n')
          .file(`${folder}/pool/a-1^2.rpm`)
          .file(`${folder}/pool/b.rpm`)
          .file(`${folder}/pool/my own.rpm`)
          .file(`${folder}/pool/b`),
      after: { files: { [`${folder}/pool/my own.rpm`]: 'gone', [`${folder}/pool/b`]: 'gone' } },
    },
  ],
};
