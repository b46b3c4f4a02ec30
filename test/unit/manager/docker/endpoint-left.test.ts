import { afterEach, beforeEach, expect } from 'vitest';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

// Seen when dockerd restarts while a container starts: the endpoint of the name stays in the network.
fault(
  'endpoint-left',
  'an endpoint that Docker kept for a removed container is freed, and its slot continues',
  async () => {
    rig.docker.fail(/^POST .*\/start$/, 403, 'endpoint with name box-0 already exists in network azp-fleet');
    rig.docker.fail(/^POST \/networks\/azp-fleet\/disconnect$/, 200, '');
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    const steps = rig.docker.calls.map(
      ({ method, path }) => `${method} ${path.replaceAll(/[0-9a-f]{64}/g, 'ID')}`,
    );
    const failed = steps.indexOf('POST /containers/ID/start');
    // While a container of that name exists, Docker would only check the endpoints of that container.
    expect(
      steps
        .slice(failed)
        .filter((step) => /^(?:DELETE|POST)/.test(step))
        .slice(0, 3),
    ).toEqual(['POST /containers/ID/start', 'DELETE /containers/ID', 'POST /networks/azp-fleet/disconnect']);
  },
);
