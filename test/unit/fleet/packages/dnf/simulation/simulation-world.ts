import { dnf } from '../../../../../../src/fleet/packages/dnf/dnf.ts';
import { platformOf } from '../../../../../../src/fleet/packages/distribution.ts';
import type { Question } from '../../../../../../src/fleet/packages/simulation.ts';
import type { Transaction } from '../../../../../../src/fleet/packages/transaction.ts';
import { bareOf } from '../../../steps/enterprise-cases.ts';

const system = platformOf(bareOf('rocky', '9.5')) as NonNullable<ReturnType<typeof platformOf>>;
export const site = { mirrors: { docker: 'http://mirror/docker' }, proxy: { noProxy: ['.lab'] } };
export const ours = dnf.source('docker', system, site);
export const docker: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0' } }, { name: 'extra' }],
  remove: ['old'],
  mayRemove: [],
  proxy: { noProxy: [] },
};

export function ask(transaction: Transaction, parts: Partial<Question> = {}): string {
  return dnf.simulator.script({
    asked: [{ key: 'docker-install-1', transaction }],
    missing: [],
    system,
    site,
    ...parts,
  });
}

export const answered = (...lines: readonly string[]): string =>
  ['begin docker-install-1', ...lines, 'end', ''].join('\n');
export const asked = (...brought: readonly string[]): Record<string, string> => ({
  '/run/told': `644 install ${['tool-2.0', 'extra', ...brought].join(' ')}\nremove  old\nrun\n`,
});
export const locks = '# ours\ntool-5:1.9-1.el9.*\n runc-4:1.1-1.*\n!never-1-1.*\n';
export const world = {
  'all-locks': `644 ${locks}`,
  locks: '644 # ours\n runc-4:1.1-1.*\n!never-1-1.*\n',
  answer: '644 ',
  'update.words': '644 0\n',
};
export const engine = [
  'version 2.0',
  'install containerd.io 1.7.27-3.1.el9',
  'remove runc 4:1.1.12-1.el9',
  'install docker-ce 3:29.7.2-1.el9',
  'remove podman-docker 4:4.9-1.el9',
  'remove buildah 2:1.33-1.el9',
  'room 18432 0',
];
