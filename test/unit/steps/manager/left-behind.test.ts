// What killed runs leave besides a manager that runs with something else than what lies there.
import { expect, it } from 'vitest';

import { sha256 } from '../../../../src/base/digest.ts';
import type { Facts } from '../../../../src/facts/facts.ts';
import type { Change } from '../../../../src/steps/change.ts';
import { managerStep } from '../../../../src/steps/manager.ts';
import { merge } from '../../../support/host.ts';
import { converged, status, wanted } from './converged.ts';

const plan = (facts: Facts): readonly Change[] => [...managerStep.plan(facts, wanted)] as Change[];
const restart = 'restart the manager (jobs go on) and wait for it [nothing]';

const cases: readonly [string, Facts, readonly string[]][] = [
  ['a unit that systemd has not read', merge(converged(), { manager: { reloadNeeded: true } }), [restart]],
  [
    'agents that a killed run has drained, and a person too',
    merge(converged(), {
      manager: {
        status: {
          ...status(wanted),
          drained: true,
          drains: [
            { reason: 'new fan', at: '2026-11-21T12:00:00Z', owner: 'bob@laptop' },
            { reason: 'restart', at: '2026-11-21T12:03:00Z', owner: 'ann@laptop', run: 'run-0' },
          ],
        },
      },
    }),
    ['give the agents back to work [nothing]'],
  ],
  [
    'a credential and half an upload that nobody wants any more',
    merge(converged(), {
      manager: { leftovers: ['/etc/azp-fleet/token.next', '/etc/azp-fleet/manager.json.0123.part'] },
    }),
    ['remove what an interrupted run left: token.next, manager.json.0123.part [nothing]'],
  ],
  [
    'half an upload that this run goes on with',
    merge(converged(), {
      manager: {
        credentialDigest: sha256('other'),
        leftovers: ['/etc/azp-fleet/token.next', '/etc/azp-fleet/token.next.0123.part'],
      },
    }),
    ['store the credential (root only) [nothing]', restart],
  ],
];

it.each(cases)('%s', (_, facts, expected) => {
  expect(plan(facts).map(({ title, disturbs }) => `${title} [${disturbs}]`)).toEqual(expected);
});
