import { toolkitStep } from '../../../src/fleet/steps/toolkit/step.ts';
import { driven } from '../host.ts';
import type { ResolverCase, Subject } from './case.ts';

const packages = [
  'nvidia-container-toolkit',
  'nvidia-container-toolkit-base',
  'libnvidia-container-tools',
  'libnvidia-container1',
];
const at = (version: string): string => packages.map((name) => `${name}=${version}-1`).join(' ');
const facts = { driver: driven };

/** The inventory names 1.20.0 of the toolkit, or none. One repository serves all systems. */
export const toolkit: Subject = {
  steps: [toolkitStep],
  cases: (on) => (on === 'Debian 13' ? cases : cases.slice(0, 1)),
};

const cases: readonly ResolverCase[] = [
  { history: 'fresh', what: 'nothing there', facts },
  { history: 'older', what: '1.19.1', facts, past: { installed: [at('1.19.1')] } },
  {
    history: 'newer',
    what: '1.21.0, and nothing older is configured',
    facts,
    past: { installed: [at('1.21.0')] },
    desired: { toolkit: { version: '1.20.0', orNewer: true } },
  },
  { history: 'newer', what: '1.21.0, and 1.20.0 is configured', facts, past: { installed: [at('1.21.0')] } },
  { history: 'held', what: 'by its owner', facts, past: { installed: [at('1.18.2')], held: packages } },
];
