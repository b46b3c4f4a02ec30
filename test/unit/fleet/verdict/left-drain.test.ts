import { expect, it } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { leftDrain } from '../../../../src/fleet/verdict/host.ts';
import { factsOf, merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const at = '2026-11-20T09:30:00Z';
const run = '3f2a91bc-0000-4000-8000-000000000000';
const ofRun = { reason: 'do driver', at, owner: 'bob@ci', run };
const ofPerson = { reason: 'fan', at, owner: 'ann@laptop' };
const said = 'whole host drained by run 3f2a91bc of bob@ci: do driver, since 2026-11-20 09:30 UTC';

const end = 'checks the host and enables its agents again (or run "azp-fleet undrain h200-1")';

const facts = (more: Partial<Facts> = {}, drains = [ofPerson, ofRun]): Facts => ({
  ...merge(factsOf(), { manager: { status: managerStatus({ drains }) } }),
  uptimeS: 86_400,
  time: Date.parse(at) + 90_000_000,
  ...more,
});

it.each<[string, Facts, string | undefined, string, string]>([
  [
    'no run works on the host: interrupted',
    facts(),
    'agents.left-drained',
    `${said}; interrupted`,
    `run "azp-fleet provision h200-1": it ${end}`,
  ],
  [
    'no run does, and its change still runs',
    facts({
      changes: [
        { id: 'docker-1', title: 'install Docker', owner: 'bob@ci', state: 'done', code: 0 },
        { id: 'driver-1', title: 'install driver', owner: 'bob@ci', state: 'running', code: undefined },
      ],
    }),
    'agents.left-drained',
    `${said}; interrupted, and its "install driver" still runs as azp-fleet-change-driver-1.service`,
    `run "azp-fleet provision h200-1": it waits for that, ${end}`,
  ],
  [
    'it was a reboot',
    facts({}, [{ ...ofRun, command: 'reboot' } as typeof ofRun]),
    'agents.left-drained',
    `${said}; interrupted`,
    `run "azp-fleet reboot h200-1": it ${end}`,
  ],
  [
    'a run works there',
    facts({ hostLock: { who: 'bob@ci', command: 'azp-fleet provision', since: at } }),
    'agents.held-by-run',
    `${said}; bob@ci is running azp-fleet provision, since 2026-11-20 09:30 UTC`,
    'wait for that run to end',
  ],
  [
    'a run works there whose lock has no time',
    facts({ hostLock: { who: 'another user', command: 'a command', since: '' } }),
    'agents.held-by-run',
    `${said}; another user is running a command`,
    'wait for that run to end',
  ],
  [
    'its reason names the change that still runs',
    facts(
      { changes: [{ id: 'd-1', title: 'install driver', owner: '', state: 'running', code: undefined }] },
      [{ ...ofRun, reason: 'do driver; still drained: the run ended before azp-fleet-change-d-1.service' }],
    ),
    'agents.left-drained',
    `${said.replace(',', '; still drained: the run ended before azp-fleet-change-d-1.service,')}; interrupted, and its "install driver" still runs`,
    `run "azp-fleet provision h200-1": it waits for that, ${end}`,
  ],
  [
    'the host booted long ago',
    facts({ uptimeS: 900, time: Date.parse(at) + 960_000 }),
    'agents.left-drained',
    `${said}; interrupted`,
    `run "azp-fleet provision h200-1": it ${end}`,
  ],
  [
    'the host was drained after its boot',
    facts({ uptimeS: 60, time: Date.parse(at) + 60_000 }),
    'agents.left-drained',
    `${said}; interrupted`,
    `run "azp-fleet provision h200-1": it ${end}`,
  ],
  [
    'it may have rebooted the host, and not have reconnected yet',
    facts({ uptimeS: 60, time: Date.parse(at) + 61_000 }),
    'agents.held-by-run',
    said,
    `wait for that run to end; if it was interrupted, run "azp-fleet provision h200-1": it ${end}`,
  ],
  [
    'whether a run works there could not be read',
    facts({ unknown: [{ fact: 'host-lock', why: 'no answer in 5 s' }] }),
    'agents.held-by-run',
    said,
    `wait for that run to end; if it was interrupted, run "azp-fleet provision h200-1": it ${end}`,
  ],
])('drained by a run, and %s', (_, seen, code, what, next) => {
  expect(leftDrain(seen, 'h200-1')).toEqual([{ code, severity: 'warn', what, next }]);
});

it('drains of users are not reported', () => {
  expect(leftDrain(facts({}, [ofPerson]), 'h200-1')).toEqual([]);
});

it('a drain is reported also if the changes of the host could not be read', () => {
  const unknown = [{ fact: 'changes', why: 'no answer in 5 s' }];
  expect(leftDrain(facts({ unknown }), 'h200-1')).toMatchObject([
    { code: 'agents.left-drained', what: `${said}; interrupted` },
  ]);
});
