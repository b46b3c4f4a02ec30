import { afterEach, expect, it } from 'vitest';

import { probeVerdict } from '../../../../../src/fleet/apply/proof/probe.ts';
import { merge } from '../../../../support/host.ts';
import { managerStatus } from '../../../../support/manager-status.ts';
import { FakeHost } from '../fake-fleet.ts';

let host: FakeHost;
afterEach(() => host.close());

it('a host without GPUs passes the probe, whatever its agents do', async () => {
  host = new FakeHost([]);
  host.facts = merge(host.facts, { gpus: [] });
  host.status = managerStatus({ problems: [{ code: 'azure.auth', what: 'refused', next: 'renew' }] });
  await host.serveManager(() => undefined);
  expect(await probeVerdict(host.survey(), host.tools())).toMatchObject({ state: 'healthy' });
});

it('what keeps the host from being probed is the verdict', async () => {
  host = new FakeHost([]);
  await host.serveManager(() => undefined);
  host.refuses = true;
  expect(await probeVerdict(host.survey(), host.tools())).toMatchObject({
    state: 'failed',
    cause: expect.stringContaining('the manager answered 500') as string,
    next: expect.stringContaining('journalctl') as string,
  });
});
