import { dockerStep } from '../../../src/fleet/steps/docker/step.ts';
import { systems, type SystemName } from './systems.ts';
import type { ResolverCase, Subject } from './case.ts';

const cpuOnly = { gpus: [] };
const running = (serverVersion: string) => ({
  ...cpuOnly,
  docker: { active: true, enabled: true, serverVersion },
});

/** Docker Engine 29.7.2 is configured. */
export const docker: Subject = { steps: [dockerStep], cases };

function cases(on: SystemName): ResolverCase[] {
  const { distribution, os } = systems[on];
  const at = (release: string): string => `5:${release}-1~${distribution}`;
  const engine = (release: string): string =>
    `docker-ce=${at(release)} docker-ce-cli=${at(release)} containerd.io docker-buildx-plugin docker-compose-plugin`;
  const own = os.id === 'debian' ? 'docker.io docker-compose' : 'docker.io docker-compose-v2';
  const client = os.versionId === '13' ? ['docker-cli'] : [];
  // Of Debian 12 a leftover that has the command itself; the others have the plugin's package.
  const [leftover, ours] =
    os.versionId === '12'
      ? ['docker-compose', 'docker-buildx-plugin']
      : ['docker-buildx', 'docker-compose-plugin'];
  return [
    { history: 'fresh', what: 'nothing there', facts: cpuOnly },
    {
      history: 'current',
      what: 'put there by hand',
      past: { installed: [engine('29.7.2')] },
      facts: running('29.7.2'),
    },
    { history: 'older', what: '29.6.1', past: { installed: [engine('29.6.1')] }, facts: running('29.6.1') },
    {
      history: 'newer',
      what: '29.9.0, and the inventory asks for 29.7.2',
      past: { installed: [engine('29.9.0')] },
      facts: running('29.9.0'),
    },
    {
      history: 'newer',
      what: '29.9.0, and nothing older is configured',
      past: { installed: [engine('29.9.0')] },
      facts: running('29.9.0'),
      desired: { docker: { version: '29.7.2', orNewer: true } },
    },
    {
      history: 'held',
      what: 'by its owner, what has to go among it',
      past: { installed: [own], held: ['docker.io', 'containerd', 'runc', ...client] },
      facts: running('20.10.24'),
    },
    {
      history: 'conflicting',
      what: "the distribution's own with all that it recommends",
      past: { installed: [own] },
      facts: running('20.10.24'),
    },
    {
      history: 'conflicting',
      what: 'a plugin that was left over',
      past: { installed: [leftover] },
      facts: cpuOnly,
    },
    {
      history: 'half-installed',
      what: "another run installed all but the plugin, and the distribution's is present",
      past: {
        installed: [
          leftover,
          `--no-install-recommends docker-ce=${at('29.7.2')} docker-ce-cli=${at('29.7.2')} containerd.io ${ours}`,
        ],
      },
      facts: running('29.7.2'),
    },
    ...(os.id === 'debian' ? beside(at) : []),
    {
      history: 'half-installed',
      what: 'dpkg broke off over a file of another package',
      past: {
        installed: [leftover, `--no-install-recommends docker-ce-cli=${at('29.7.2')} containerd.io`],
        unpacked: ['docker-ce-cli', 'containerd.io'],
      },
      facts: cpuOnly,
    },
  ];
}

/** Podman, which Ubuntu's lists here lack. */
function beside(at: (release: string) => string): ResolverCase[] {
  return [
    {
      history: 'conflicting',
      what: "the distribution's own, with a Podman that uses its runtime",
      past: { installed: ['docker.io', 'podman'] },
      facts: running('20.10.24'),
    },
    {
      history: 'conflicting',
      what: "Podman in its place, with Docker's command",
      past: { installed: ['podman podman-docker'] },
      facts: cpuOnly,
    },
    {
      history: 'older',
      what: '29.6.1, with a Podman beside it',
      past: { installed: [`docker-ce=${at('29.6.1')} docker-ce-cli=${at('29.6.1')}`, 'podman'] },
      facts: running('29.6.1'),
    },
  ];
}
