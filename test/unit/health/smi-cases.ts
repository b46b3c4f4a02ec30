import { smiScript } from '../../../src/health/smi-script.ts';
import { followNew } from '../../../src/manager/gpus/kernel-watch.ts';
import type { ScriptSuite } from '../../support/scratch/case.ts';

const script = smiScript(['0000:18:00.0', '0000:3b:00.0']);
const whole = 'nvidia-smi -q -x';
const more = ['nvidia-smi -L', 'nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader'];
const each = ['nvidia-smi -q -x -i 0000:18:00.0', 'nvidia-smi -q -x -i 0000:3b:00.0'];
const follow = followNew({ prefix: '' })[1] ?? '';

export const smiSuite: ScriptSuite = {
  name: 'looking at GPUs, and following the kernel log',
  flags: [],
  given: (host) =>
    host
      .program('nvidia-smi', '')
      .file('/dev/nvidiactl')
      .file('/dev/nvidia-uvm')
      .program('dmesg', 'echo new'),
  cases: [
    { name: 'all at once, with what the listing lacks', script, after: { calls: [whole, ...more] } },
    {
      name: 'a module that is not loaded is told of',
      script,
      given: (host) => host.drop('/dev/nvidia-uvm'),
      after: { stdout: 'azp-fleet: no /dev/nvidia-uvm\n', calls: [whole, ...more] },
    },
    {
      name: 'but not where there is no driver of NVIDIA behind it',
      script,
      given: (host) => host.drop('/dev/nvidia-uvm', '/dev/nvidiactl'),
      after: { calls: [whole, ...more] },
    },
    {
      name: 'one after the other where one makes the listing fail; its code is the code',
      script,
      given: (host) => host.program('nvidia-smi', '[ "$3" = -i ] || exit 15'),
      after: { code: 15, calls: [whole, ...each] },
    },
    ...[9, 12, 13, 18, 126, 127].map((code) => ({
      name: `code ${code} is none of one GPU`,
      script,
      given: (host: Parameters<NonNullable<ScriptSuite['given']>>[0]) =>
        host.program('nvidia-smi', `exit ${code}`),
      after: { code, calls: [whole] },
    })),
    {
      name: 'new lines of the kernel log alone',
      script: follow,
      given: (host) => host.file('/dev/kmsg'),
      run: { flags: ['-c', '. "$1"', '/dev/kmsg'] },
      after: { stdout: 'new\n', calls: ['dmesg --follow-new'] },
    },
    {
      name: 'not the old ones where there is no device for new ones',
      script: follow,
      run: { flags: ['-c', '. "$1"', '/dev/kmsg'] },
      after: { code: 1, stderr: '/dev/kmsg cannot be read\n' },
    },
  ],
};
