import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { dnfFolder } from '../../../../../src/fleet/packages/dnf/offline.ts';
import { withDkms } from '../../../../../src/fleet/packages/dnf/repositories.ts';
import { dnfSimulation } from '../../../../../src/fleet/packages/dnf/simulation.ts';
import type { PackageManager } from '../../../../../src/fleet/packages/package-manager.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { bareOf } from '../../steps/enterprise-cases.ts';
import { has, lockList, offered } from './dnf-host.ts';
import { conflict } from './dnf-output.ts';
import { simulatedHost, worldAs } from './simulation-host.ts';

const system = platformOf(bareOf('rocky', '9.5'));
if (system === undefined) throw new Error('no system');
const site = { mirrors: {}, proxy: { noProxy: ['.lab'] } };
const index = `<a b="it's">$HOME \`id\`</a>`;
const bundled = dnf.offline.manager(index, "make it again, it's old");
const tool: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0' } }],
  remove: ['old'],
  mayRemove: [],
  proxy: { noProxy: [] },
};
const before = withDkms({ release: 'epel-release', major: '9' }, { mirrors: {} });
const fromMirror = withDkms(
  { release: 'epel-release', major: '9' },
  { mirrors: { epel: 'http://mirror/epel' } },
);
const newer: Transaction = { ...tool, packages: [{ name: 'tool', version: { release: '3.0' } }] };
const ask = (transaction: Transaction, { simulator }: PackageManager = bundled): string =>
  simulator.script({
    asked: [{ key: 'docker-install-1', transaction }],
    missing: ['docker', 'nvidia'],
    system,
    site,
  });
/** What the simulation of a transaction has without a bundle, too. */
function withoutBundle(transaction: Transaction): string {
  const script = ask(transaction, dnf);
  return script.slice(script.indexOf('begin docker-install-1'));
}
const [describeFunction = ''] = dnfFolder.onlyTheFolder.split('\nfolder=');
const answered = (...lines: readonly string[]): string =>
  ['begin docker-install-1', ...lines, 'end', ''].join('\n');
const digest = sha256(`${index}\n`);
const scratch = '/run/azp-fleet-simulation.XXXXXX';

export const folderSimulationSuite: ScriptSuite = {
  name: 'simulating transactions with dnf and the packages of a bundle',
  elsewhere: [
    ...dnfSimulation.functions,
    dnfSimulation.standIns,
    describeFunction,
    ...[{ ...tool, before }, newer, { ...tool, before: fromMirror }].map(withoutBundle),
  ],
  given: (host) => {
    simulatedHost(host);
    has(host, 'tool 5:1.9-1.el9', 'old 0:1.0-1.el9');
    offered(host, 'tool 5:2.0-1.el9', 'dkms 0:3-1');
    host.file(lockList).file('/run/answer', conflict).file('/etc/yum.repos.d/rocky.repo', 'x');
  },
  cases: [
    {
      name: 'uses only the packages of the bundle',
      script: ask({ ...tool, before }),
      given: (host) => host.file('/run/copy'),
      after: {
        stdout: answered(
          'version 2.0',
          'install containerd.io 1.7.27-3.1.el9',
          'remove runc 4:1.1.12-1.el9',
          'install docker-ce 3:29.7.2-1.el9',
          'remove podman-docker 4:4.9-1.el9',
          'remove buildah 2:1.33-1.el9',
          'space 18432 0',
        ),
        stderr: '0\n',
        files: worldAs(
          {
            'all-locks': '644 ',
            locks: '644 ',
            answer: '644 ',
            'update.words': '644 0\n',
            index: '755 /',
            'index/repodata': '755 /',
            'index/repodata/primary.xml': `644 ${index}\n`,
            'index/repodata/repomd.xml': `644 <repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>${digest}</revision><data type="primary">
<checksum type="sha256">${digest}</checksum><open-checksum type="sha256">${digest}</open-checksum>
<location href="repodata/primary.xml"/><timestamp>0</timestamp>
</data></repomd>
`,
            'repos/azp-fleet-bundle.repo': `644 [azp-fleet-bundle]
name=azp-fleet-bundle
baseurl=file://${scratch}/index
enabled=1
gpgcheck=0
repo_gpgcheck=0
module_hotfixes=1
`,
          },
          { '/run/requested': '644 install tool-2.0\nremove  old\nrun\n' },
        ),
      },
    },
    {
      name: 'reports the versions in it',
      script: ask(newer),
      after: { stdout: answered('missing', 'offer 5:2.0-1.el9'), stderr: '0\n' },
    },
    ...(
      [
        ['a repository', before, 'epel-release-latest-9.noarch.rpm'],
        ['a mirror', fromMirror, 'azp-fleet-epel'],
      ] as const
    ).map(([what, text, name]) => ({
      name: `reports missing packages that would add ${what}`,
      script: ask({ ...tool, before: text }),
      given: (host: ScratchHost) => offered(host, 'tool 5:2.0-1.el9'),
      after: {
        stdout: answered(
          `what the bundle lacks packages that ${name} provides (expected all of them in the bundle; seen: none)`,
          "next make it again, it's old",
        ),
        stderr: '0\n',
      },
    })),
  ],
};
