import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import {
  asked,
  database,
  dnfCall,
  lockCall,
  lockList,
  query,
  stateOf,
  updated,
  updating,
} from './dnf-host.ts';

const proxy = { http: 'http://proxy:3128', https: 'http://proxy:3129', noProxy: ['.lab', '10.0.0.0/8'] };

export const environment = 'http://proxy:3128 http://proxy:3129 .lab,10.0.0.0/8 C.UTF-8\n';
/** One package at a version, one at any version, and one that is removed. */
export const engine = dnf.install({
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0' } }, { name: 'extra' }],
  remove: ['old', 'absent'],
  mayRemove: ['old-*'],
  proxy,
  before: 'echo "$http_proxy $https_proxy $no_proxy $LC_ALL"',
  after: 'echo after',
});

export const request = 'install tool-2.0 extra $\nremove  old $\nrun $\n';
/** Commands before the check of removals. */
export const checkCalls = [
  ...updating,
  lockCall('list'),
  query('tool'),
  dnfCall('--assumeno --allowerasing shell'),
];
export const installCalls = [...checkCalls, dnfCall('-y --allowerasing shell')];
export const oneRequest = asked(request);
export const twoRequests = asked(request, request);
export const stdout = `${environment}Complete!\nafter\n`;
export const result = {
  [database]: `644 ${stateOf('tool 5:2.0-1.el9', 'extra 0:9.9-1.el9')}`,
  [lockList]: '644 other-0:1-1.*\ntool-5:2.0-1.el9.*\nextra-0:9.9-1.el9.*\n',
};
export const success = { stdout, calls: installCalls, files: { ...updated, ...twoRequests, ...result } };
