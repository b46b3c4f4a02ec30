// `provision` upgrades a host of an earlier release without manual steps. In the form of host-stack-cases.ts and
// manager/cases.ts.
import { describe, expect, it } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import { imageStep } from '../../../../src/fleet/steps/image.ts';
import { managerStep } from '../../../../src/fleet/steps/manager/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards, lines, plan } from './host-stack-plan.ts';
import { converged, defaults } from './manager/converged.ts';

const stack = desiredOf();
const ready = afterwards(factsOf(), stack);
const persistenced = {
  unit: 'nvidia-persistenced.service',
  file: 'static',
  active: 'active',
  forgets: true,
} as const;

describe('files of an earlier release', () => {
  it.each([
    [
      'nvidia-persistenced as its package has it, which keeps no GPU initialised',
      merge(ready, { driver: { services: [persistenced] } }),
      ['configure nvidia-persistenced.service to keep GPUs initialised [nothing]'],
    ],
    [
      'packages that nothing keeps at their version',
      { ...ready, held: [] },
      [
        'hold the NVIDIA driver packages [nothing]',
        'hold the Docker packages [nothing]',
        'hold the NVIDIA Container Toolkit packages [nothing]',
      ],
    ],
    [
      'an engine that keeps logs of any size and ends containers when it restarts',
      merge(ready, { docker: { daemonJson: '{"runtimes": {}}', liveRestore: false } }),
      [
        'configure Docker Engine: live-restore, log-opts [containers]',
        'restart Docker Engine with runtimes [containers]',
      ],
    ],
    [
      'nothing to build the modules with, should a kernel be upgraded',
      merge(ready, { lacksToBuild: ['make'] }),
      ['install make [nothing]'],
    ],
  ])('%s', (_, facts, expected) => {
    expect(lines(plan(facts, stack))).toEqual(expected);
    expect(plan(afterwards(facts, stack), stack)).toEqual([]);
  });

  it('replaces manager, unit and configuration with one restart, which ends no job', () => {
    const now = converged();
    const before = merge(now, {
      files: {
        ...now.files,
        [HostPaths.unit]: sha256('a unit of then'),
        [HostPaths.config]: sha256('a configuration of then'),
      },
      manager: { current: '/opt/azp-fleet/versions/0.0.9-aaaaaaaaaaaa', context: 'of then' },
    });
    const steps = [imageStep, managerStep].flatMap((step) => [...step.plan(before, defaults)]);
    expect(lines(steps)).toEqual([
      'upload the build context of agent image 4.260.0 [nothing]',
      expect.stringMatching(/^install the manager /),
      "write the manager's configuration [nothing]",
      'install the unit azp-fleet-manager.service [nothing]',
      'restart the manager (jobs keep running) and wait for it [nothing]',
    ]);
  });
});
