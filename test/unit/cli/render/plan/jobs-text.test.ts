import { expect, test } from 'vitest';

import type { HostSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { configured, planOn80, runningWith, desiredWith } from './manager-plans.ts';

const imagenet = {
  name: 'IMAGENET',
  host: '/data/imagenet',
  container: '/datasets/imagenet',
  requireMount: true,
};
const dataset = (parts: object): HostSpec['datasets'][number] => ({ ...imagenet, ...parts });

const cases: readonly [string, Desired, Desired, string][] = [
  [
    'memory',
    desiredWith(),
    desiredWith({ limits: { memory: '64g' } }),
    configured(`             + limits.memory: 64g
             ~ all slots restart
                 running jobs finish first`),
  ],
  [
    'another limit',
    desiredWith({ limits: { memory: '64g', pids: 4096 } }),
    desiredWith({ limits: { memory: '32g' } }),
    configured(`             ~ limits.memory: 64g → 32g
             - limits.pids: 4096
             ~ all slots restart
                 running jobs finish first`),
  ],
  [
    'datasets',
    desiredWith({ datasets: [imagenet, dataset({ name: 'OLD', host: '/data/old' })] }),
    desiredWith({
      datasets: [
        dataset({ host: '/fast/imagenet' }),
        dataset({ name: 'COCO', host: '/data/coco', container: '/datasets/coco', requireMount: false }),
      ],
    }),
    configured(`             ~ dataset IMAGENET host: /data/imagenet → /fast/imagenet
             + dataset COCO: /data/coco at /datasets/coco
                 slots wait while its folder is missing or empty
             - dataset OLD: /data/old at /datasets/imagenet, a mount point
                 jobs no longer have this dataset
             ~ all slots restart
                 running jobs finish first`),
  ],
  [
    'Docker for jobs',
    desiredWith(),
    desiredWith({ jobs: { sudo: false, docker: true } }),
    configured(`             ~ jobs.docker: false → true
                 jobs may use Docker's socket: root on this host
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'no Docker for jobs any more',
    desiredWith({ jobs: { sudo: false, docker: true } }),
    desiredWith(),
    configured(`             ~ jobs.docker: true → false
                 jobs can no longer use Docker's socket
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'sudo for jobs',
    desiredWith(),
    desiredWith({ jobs: { sudo: true, docker: false } }),
    configured(`             ~ jobs.sudo: false → true
                 jobs may become root inside their container
             ~ all slots move to a new image
                 one slot first, the others once it works; running jobs finish
                 first`),
  ],
  [
    'required network isolation',
    desiredWith(),
    desiredWith({ fence: 'required' }),
    configured(`             + network: required
                 no job starts without network isolation`),
  ],
  [
    'network isolation no longer required',
    desiredWith({ fence: 'required' }),
    desiredWith(),
    configured(`             - network: required
                 jobs also run while network isolation fails`),
  ],
  [
    'registration',
    desiredWith(),
    desiredWith({ registration: 'config' }),
    configured(`             ~ registration: rest → config
                 the agent's config.sh gets the token, in a container without a
                 job`),
  ],
  [
    'capabilities',
    desiredWith({ capabilities: { site: 'munich', room: 'b12' } }),
    desiredWith({ capabilities: { site: 'berlin', rack: '7' } }),
    configured(`             ~ capability site: munich → berlin
             + capability rack: 7
             - capability room: b12
             ~ agents publish their capabilities within a minute, without a
               restart`),
  ],
  [
    'a proxy',
    desiredWith(),
    desiredWith({}, { proxy: { https: 'http://proxy.lab:3128', noProxy: ['.lab', '10.0.0.0/8'] } }),
    configured(`             + proxy.https: http://proxy.lab:3128
             + proxy.noProxy: .lab, 10.0.0.0/8
             ~ all slots restart
                 running jobs finish first`),
  ],
  [
    'a service principal',
    desiredWith(),
    desiredWith(
      {},
      {
        credential: {
          kind: 'service-principal',
          clientId: '11111111-2222-3333-4444-555555555555',
          tenantId: '66666666-7777-8888-9999-000000000000',
          secret: { env: 'S' },
          expires: '2027-05-01',
        },
      },
    ),
    configured(`             ~ credential: personal access token → service principal
               11111111-2222-3333-4444-555555555555 of
               66666666-7777-8888-9999-000000000000`),
  ],
];

test.each(cases)('the settings of jobs: %s', (_, before, after, text) => {
  expect(planOn80(runningWith(before), after)).toBe(text);
});
