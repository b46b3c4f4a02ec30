import { withBuilder } from '../../../../../src/fleet/packages/dnf/repositories.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { dnfCall, offered, query, settled, updated, updating } from './dnf-host.ts';
import { around } from './epel-cases.ts';

const script = around(withBuilder);
const listCall = dnfCall('-q repolist --disabled');
const asked = ['ocl-icd', 'opencl-filesystem'].map(query);
const without = 'ocl-icd 0:2-1\n';
const filesystem = 'opencl-filesystem 0:1.0-6\n';
const list = (...ids: readonly string[]): string =>
  ['repo id repo name', ...ids.map((id) => `${id} a name`), ''].join('\n');

/** The system's sources lack one of the two; these repositories are disabled. */
function lacks(host: ScratchHost, ...disabled: readonly string[]): ScratchHost {
  offered(host, 'ocl-icd 0:2-1');
  return host.file('/run/disabled', list(...disabled)).file('/run/switched', filesystem);
}

/** The repository for builders, if only it has the dependencies of NVIDIA's packages. */
export const builderCases: readonly ScriptCase[] = [
  {
    name: 'enables no repository if all is offered',
    script,
    given: (host) => offered(host, 'ocl-icd 0:2-1', 'opencl-filesystem 0:1.0-6'),
    after: { stdout: 'built\n', calls: [...updating, ...asked], files: updated },
  },
  ...['crb', 'powertools', 'ol9_codeready_builder'].map((id) => ({
    name: `enables ${id} if only that has a package`,
    script,
    given: (host: ScratchHost) => lacks(host, 'crb-debug', id, 'ol8_codeready_builder').file('/run/manager'),
    after: {
      stdout: 'built\n',
      calls: [
        ...updating,
        ...asked,
        listCall,
        'dnf config-manager --help',
        `dnf config-manager --set-enabled ${id}`,
        settled,
        updating[1] ?? '',
      ],
      files: { ...updated, '/var/lib/dnf/offers': `644 ${without}${filesystem}` },
    },
  })),
  {
    name: 'installs the plugin that enables repositories first',
    script,
    given: (host) => lacks(host, 'crb'),
    after: {
      stdout: 'dnf did install dnf-command(config-manager)\nbuilt\n',
      calls: [
        ...updating,
        ...asked,
        listCall,
        'dnf config-manager --help',
        dnfCall(`-y install 'dnf-command(config-manager)'`),
        'dnf config-manager --set-enabled crb',
        settled,
        updating[1] ?? '',
      ],
      files: { ...updated, '/run/manager': '644 ', '/var/lib/dnf/offers': `644 ${without}${filesystem}` },
    },
  },
  {
    name: "enables Red Hat's repository with subscription-manager",
    script,
    given: (host) =>
      lacks(host, 'codeready-builder-for-rhel-9-x86_64-rpms').program('subscription-manager', ''),
    after: {
      stdout: 'built\n',
      calls: [
        ...updating,
        ...asked,
        listCall,
        'subscription-manager repos --enable=codeready-builder-for-rhel-9-x86_64-rpms',
        settled,
        updating[1] ?? '',
      ],
      files: updated,
    },
  },
  {
    name: 'enables nothing if there is no such repository: dnf names missing packages',
    script,
    given: (host) => lacks(host, 'crb-debug', 'mycrb'),
    after: { stdout: 'built\n', calls: [...updating, ...asked, listCall], files: updated },
  },
];
