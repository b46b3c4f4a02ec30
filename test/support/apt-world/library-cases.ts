import type { SlotSpec } from '../../../src/shared/contract/slots.ts';
import { libraries as plan } from '../../../src/fleet/steps/manager/step.ts';
import { systems, type SystemName } from './systems.ts';
import type { ResolverCase, Subject } from './case.ts';

/** What agents load that run on the host itself. */
export const libraries: Subject = { steps: [{ name: 'manager', plan }], cases };

const slot: SlotSpec = { gpus: [], share: false, limits: {}, capabilities: [], mode: 'container' };
const ofMode = (...modes: SlotSpec['mode'][]) => ({
  agents: { kind: 'slots', slots: modes.map((mode) => ({ ...slot, mode })) } as const,
});

const names: Readonly<Record<string, string>> = {
  '12': 'libicu72 libssl3',
  '13': 'libicu76 libssl3t64',
  '22.04': 'libicu70 libssl3',
  '24.04': 'libicu74 libssl3t64',
};

function cases(on: SystemName): ResolverCase[] {
  const { os } = systems[on];
  const own = `${names[os.versionId]} libgssapi-krb5-2 zlib1g`;
  return [
    {
      history: 'fresh',
      what: 'one agent of two is to run on the host',
      desired: ofMode('container', 'host'),
    },
    { history: 'fresh', what: 'all agents run in containers', desired: ofMode('container') },
    { history: 'current', what: 'all is there', past: { shipped: [own] }, desired: ofMode('host') },
    {
      history: 'older',
      what: 'a part of it is there, held by its owner',
      past: { shipped: ['libgssapi-krb5-2'], held: ['libgssapi-krb5-2'] },
      desired: ofMode('host'),
    },
  ];
}
