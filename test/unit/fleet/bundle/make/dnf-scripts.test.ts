// Facts in, exact scripts out: those that gather packages, and those of a host with a bundle. `vitest -u` writes them
// again, for review.
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { needingOf, needsOf } from '../../../../../src/fleet/bundle/make/needs.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { writeIndex } from '../../../../../src/fleet/packages/dnf/offline.ts';
import { dnfPrelude } from '../../../../../src/fleet/packages/dnf/prelude.ts';
import { planHost } from '../../../../../src/fleet/plan/plan.ts';
import { dockerStep } from '../../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../../src/fleet/steps/driver/step.ts';
import { toolkitStep } from '../../../../../src/fleet/steps/toolkit/step.ts';
import { desiredOf } from '../../../../support/host.ts';
import { includedOf } from '../../../../support/included.ts';
import { dnfParts } from '../../steps/dnf-parts.ts';
import { bareOf } from '../../steps/enterprise-cases.ts';
import { beyond, fileOf, shortened } from '../../steps/exact-scripts.ts';

const fixtures = join(import.meta.dirname, '../../../../fixtures/dnf/bundle');
const steps = [driverStep, dockerStep, toolkitStep];

const of = (id: string, versionId: string, release: string, more: Partial<Facts> = {}): Facts => ({
  ...bareOf(id, versionId),
  kernels: [{ release, headers: false, driver: false }],
  ...more,
});
const rocky9 = ['Rocky Linux 9', of('rocky', '9.5', '5.14.0-503.11.1.el9_5.x86_64')] as const;
const cases: readonly (readonly [what: string, facts: Facts])[] = [
  rocky9,
  ['Rocky Linux 8', of('rocky', '8.10', '4.18.0-553.el8_10.x86_64')],
  ['AlmaLinux 10', of('almalinux', '10.0', '6.12.0-55.el10.x86_64')],
  ['Red Hat Enterprise Linux 9', of('rhel', '9.6', '5.14.0-570.12.1.el9_6.x86_64')],
  ['Oracle Linux 9 with its own kernel', of('ol', '9.5', '5.15.0-305.176.4.el9uek.x86_64')],
  [
    'Amazon Linux 2023',
    of('amzn', '2023', '6.12.37-61.105.amzn2023.x86_64', {
      packages: { docker: '25.0.8-1.amzn2023' },
      docker: { ...bareOf('amzn', '2023').docker, serverVersion: '25.0.8', active: true, enabled: true },
    }),
  ],
];

it.each(cases)('%s', async (what, facts) => {
  const text =
    what === rocky9[0] ? scriptsOf(facts) : beyond(rocky9[0], scriptsOf(facts), scriptsOf(rocky9[1]));
  await expect(`# ${what}\n${text}\n`).toMatchFileSnapshot(join(fixtures, fileOf({ what })));
});

function scriptsOf(facts: Facts): string {
  const desired = desiredOf();
  const targets = [{ name: 'host', needing: needingOf(facts), desired }];
  const { needs, unprovided } = needsOf(targets, Buffer.alloc(0), () => Promise.reject(new Error('none')));
  expect(unprovided).toEqual([]);
  const [system] = needs.systems;
  if (system === undefined) throw new Error('no system');
  const { offline } = system.platform.packages;
  const site = { mirrors: {}, proxy: { noProxy: [] } };
  const gather = offline.gather({ transactions: system.transactions, system: system.platform, site });
  const name = `${system.platform.id}-${system.platform.versionId}`;
  const { stages, refusals } = planHost(
    facts,
    { ...desired, included: includedOf([], name) },
    { steps, disturbOthers: true },
    { answers: {}, final: true },
  );
  // Commands after a transaction belong to no package manager.
  const afterwards = system.transactions.flatMap(({ after }) => after ?? []);
  const packagesOnly = (script: string): string =>
    afterwards.reduce((kept, after) => kept.replace(after, () => '# … and afterwards'), script);
  const scripts = stages
    .flat()
    .flatMap((change) =>
      change.kind === 'change'
        ? [
            `## ${change.title}`,
            ...change.actions.flatMap((action) =>
              action.kind === 'run' && action.script.includes(dnfPrelude)
                ? [shortened(packagesOnly(action.script), dnfParts)]
                : [],
            ),
          ]
        : [],
    );
  return [
    `## packages of ${name} are gathered in ${system.platform.image(system.platform.versionId)}`,
    ...(system.platform.subscription ?? []).map(({ source, target }) => `# with ${source} at ${target}`),
    // Once by itself, and in quotes where sources are written.
    shortened(gather, dnfParts).replace(writeIndex, () => '# … the index is written'),
    ...refusals.map((refused) => `refused: ${refused.what}; ${refused.next}`),
    ...scripts,
  ].join('\n\n');
}
