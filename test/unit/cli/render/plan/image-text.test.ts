import { expect, test } from 'vitest';

import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { imageStep } from '../../../../../src/fleet/steps/image.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { artifacts } from '../../../fleet/steps/manager/converged.ts';
import { configured, planOn80, runningWith, slot, slots, desiredWith } from './manager-plans.ts';

const agent = (version: string) => ({
  agent: { version, sha256: { x64: 'a'.repeat(64), arm64: undefined } },
});

const cases: readonly [string, Desired, Desired, string][] = [
  [
    'the settings of a slot',
    desiredWith(slots(slot('a'), slot('b'))),
    desiredWith(
      slots(
        slot('a', {
          limits: { memory: '64g', shm: '8g' },
          capabilities: ['compute', 'utility', 'graphics'],
          image: 'registry.lab/own:1',
        }),
        slot('b'),
      ),
    ),
    configured(`             + slot a limits.memory: 64g
             + slot a limits.shm: 8g
             ~ slot a capabilities: compute, utility → compute, utility,
               graphics
             + slot a image: registry.lab/own:1
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'driver capabilities',
    desiredWith(),
    desiredWith({ driverCapabilities: ['compute', 'utility', 'graphics'] }),
    configured(`             ~ driverCapabilities: compute, utility → compute, utility, graphics
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'a newer agent',
    desiredWith(agent('4.260.0')),
    desiredWith(agent('4.276.0')),
    configured(`             ~ agent version: 4.260.0 → 4.276.0
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'an older agent',
    desiredWith(agent('4.276.0')),
    desiredWith(agent('4.260.0')),
    configured(`             ~ agent version: 4.276.0 → 4.260.0
                 a downgrade
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'another base',
    desiredWith(),
    desiredWith({ baseImage: 'nvidia/cuda:12.8.2-base-ubuntu24.04' }),
    configured(`             + baseImage: nvidia/cuda:12.8.2-base-ubuntu24.04
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'an image of a registry',
    desiredWith(),
    desiredWith({ image: 'registry.lab/team/agent:7' }),
    configured(`             ~ image: built here with agent 4.260.0 → registry.lab/team/agent:7
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'another image of a registry',
    desiredWith({ image: 'registry.lab/team/agent:7' }),
    desiredWith({ image: 'registry.lab/team/agent:8' }),
    configured(`             ~ image: registry.lab/team/agent:7 → registry.lab/team/agent:8
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    "a team's folder",
    desiredWith(),
    desiredWith({ dockerfile: { folder: '/lab/vision' } }),
    configured(`             + dockerfile: vision
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'mirrors',
    desiredWith(),
    desiredWith(
      {},
      {
        mirrors: { images: 'registry.lab/hub', apt: 'http://mirror.lab', agent: 'https://mirror.lab/agents' },
      },
    ),
    configured(`             + mirrors.images: registry.lab/hub
             + mirrors.apt: http://mirror.lab
             ~ mirrors.agent: https://download.agent.dev.azure.com →
               https://mirror.lab/agents
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
];

test.each(cases)('the image of agents: %s', (_, before, after, text) => {
  expect(planOn80(runningWith(before), after)).toBe(text);
});

const context = (text: string) => [
  { path: 'Dockerfile', artifact: { kind: 'text', text, sha256: sha256(text) } as const },
];
const release = (manager: string, dockerfile: string, host: Parameters<typeof desiredWith>[0] = {}) =>
  desiredWith(host, { artifacts: { ...artifacts(manager), context: context(dockerfile) } });
const brought = `h200-1: 1 change
  + image    upload the build context of agent image 4.260.0
             the host has no build context of this version
`;
const one = slot('a');
const own = slot('b', { image: 'registry.lab/own:1' });

test.each<[string, Parameters<typeof desiredWith>[0], string, string]>([
  ['with the same build context', {}, 'FROM a', ''],
  [
    'with another one',
    {},
    'FROM b',
    `             ~ the agent image is rebuilt
                 all slots move to it: one first, the others once it works;
                 running jobs finish first
`,
  ],
  [
    'with another one, if some slots have their own image',
    slots(one, own),
    'FROM b',
    `             ~ the agent image is rebuilt
                 slots that run it move to it: one first, the others once it
                 works; running jobs finish first
`,
  ],
])('a new release %s', (_, host, dockerfile, lines) => {
  expect(planOn80(runningWith(release('1', 'FROM a', host)), release('2', dockerfile, host), imageStep)).toBe(
    `${brought}${lines}
Changes: 1 on 1 host.
`,
  );
});

test('no rebuild is announced if nothing was built, or no slot runs it', () => {
  const before = runningWith(desiredWith({ image: 'registry.lab/own:1' }));
  const after = `${brought}\nChanges: 1 on 1 host.\n`;
  expect(planOn80(before, release('2', 'FROM b'), imageStep)).toBe(after);
  const none = slots(own, slot('h', { mode: 'host' }));
  expect(planOn80(runningWith(release('1', 'FROM a', none)), release('2', 'FROM b', none), imageStep)).toBe(
    after,
  );
});
