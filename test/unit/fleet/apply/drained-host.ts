import { afterEach } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import type { Proof } from '../../../../src/fleet/apply/drain.ts';
import type { Drain } from '../../../../src/shared/contract/drain.ts';
import type { Verdict } from '../../../../src/shared/health/verdict.ts';
import { merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

const hosts: FakeHost[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.close()));

export const at = '2026-11-21T12:00:00Z';
export const left: Drain = { reason: 'driver', at, owner: 'bob@laptop', run: 'run-0' };
export const reboot = change('reboot', { reboot: true, disturbs: 'machine' });
export const restart = change('restart', { disturbs: 'containers' });
export const healthy: Verdict = { state: 'healthy', cause: '', next: '' };
export const broken: Verdict = { state: 'failed', cause: 'no GPU is seen', next: 'look at its kernel log' };

/** Creates a host whose manager runs with these drains; it is closed after its test. */
export async function host(
  desired: ConstructorParameters<typeof FakeHost>[0],
  drains: readonly Drain[] = [],
) {
  const fake = new FakeHost(desired);
  hosts.push(fake);
  fake.status = managerStatus({ drains });
  fake.facts = merge(fake.facts, { manager: { unitActive: 'active', status: fake.status } });
  await fake.serveManager(() => undefined);
  return fake;
}

/** Returns a proof that logs its two halves in the host's log. */
function proof(fake: FakeHost, verdict: Verdict): Proof {
  return {
    probe: () => {
      fake.log.push('probe');
      return Promise.resolve(verdict);
    },
    prove: async (enableAgents) => {
      fake.log.push('probe');
      if (verdict.state === 'healthy') await enableAgents();
      fake.log.push('agents');
      return verdict;
    },
  };
}

export const apply = (fake: FakeHost, verdict: Verdict) =>
  applyHost(fake.survey(), fake.tools(), { exactFacts: false, proof: proof(fake, verdict) });
/** Returns the log without the bodies of the requests. */
export const done = ({ log }: FakeHost) => log.map((line) => line.replace(/^POST \/v1\/(\w+) .*$/, '$1'));
export const notes = ({ events }: FakeHost) =>
  events.flatMap((event) => (event.kind === 'note' ? [event.text] : []));
