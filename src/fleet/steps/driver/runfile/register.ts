import { failFunction, sh } from '../../../../shared/base/shell.ts';
import type { Facts } from '../../../facts/facts.ts';
import type { Platform } from '../../../packages/distribution.ts';
import type { Change } from '../../change.ts';
import { refusal, runChange } from '../../changes.ts';
import type { Refusal } from '../../step.ts';
import { buildOf, origin } from '../kernels.ts';

/** A driver from a `.run` file that was installed without `--dkms` is there for one kernel alone. */
export function* registered(facts: Facts): Generator<Change> {
  const { runfile, dkms, userspace } = facts.driver;
  if (!runfile || dkms !== 'sources' || userspace === undefined) return;
  yield runChange(
    'driver',
    'dkms',
    {
      title: `register NVIDIA driver ${userspace} with DKMS`,
      why: `the driver${origin(facts)} would be there for no other kernel`,
      disturbs: 'nothing',
    },
    { script: `${failFunction}\n${registration(userspace)}`, timeoutS: 300 },
  );
}

/** Nothing of it can be built for the kernel that boots next, which therefore has no GPUs. */
export function unbuildable(facts: Facts, platform: Platform): Refusal | undefined {
  const { runfile, dkms, userspace, loaded } = facts.driver;
  const { next } = buildOf(facts, platform);
  if (!runfile || dkms !== undefined || next === undefined || next.driver) return undefined;
  const version = userspace ?? loaded ?? '';
  return refusal(
    'driver',
    `Linux ${next.release}, which boots next, has no NVIDIA module, and the driver${origin(facts)} is not known to DKMS`,
    `sudo sh NVIDIA-Linux-${facts.arch}-${version}.run --silent --dkms on the drained host, or remove that kernel`,
  );
}

function registration(version: string): string {
  return sh`words=$(dkms add -m nvidia -v ${version} 2>&1) ||
  fail 'DKMS does not take the driver of the .run file' ${`the sources in /usr/src/nvidia-${version}`} "$words" \
    'look at dkms status on the host'`;
}
