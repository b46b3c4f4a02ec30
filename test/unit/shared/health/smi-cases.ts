import { callProgram, withCuda } from '../../../../src/shared/health/cuda.ts';
import { aloneScript, listingScript } from '../../../../src/shared/health/smi-run.ts';
import { followNew } from '../../../../src/manager/gpus/observe.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';

const script = listingScript;
const cuda = withCuda(listingScript);
const alone = aloneScript(['0000:18:00.0', '0000:3b:00.0']);
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
      name: 'what a damaged InfoROM lets it tell is all there',
      script,
      given: (host) => host.program('nvidia-smi', 'exit 14'),
      after: { code: 14, calls: [whole, ...more] },
    },
    {
      name: 'nothing more is asked of one that failed; its code is the code',
      script,
      given: (host) => host.program('nvidia-smi', 'exit 15'),
      after: { code: 15, calls: [whole] },
    },
    {
      name: 'one after the other, each with its address and its code',
      script: alone,
      given: (host) =>
        host.program(
          'nvidia-smi',
          'case "$4" in 0000:18:00.0) echo one ;; 0000:3b:00.0) echo two >&2; exit 15 ;; esac',
        ),
      after: {
        stdout:
          'azp-fleet: gpu 0000:18:00.0 exit 0\n\none\nazp-fleet: gpu 0000:3b:00.0 exit 15\n\ntwo\nazp-fleet: more\n',
        calls: [...each, ...more],
      },
    },
    {
      name: 'without a module that is not loaded, that is told of here, too',
      script: alone,
      given: (host) => host.drop('/dev/nvidia-uvm'),
      after: {
        stdout:
          'azp-fleet: gpu 0000:18:00.0 exit 0\n\n\nazp-fleet: gpu 0000:3b:00.0 exit 0\n\n\nazp-fleet: more\nazp-fleet: no /dev/nvidia-uvm\n',
        calls: [...each, ...more],
      },
    },
    ...Object.entries({
      'processes are cut, from the first mark to the last, also where a name has marks and bytes of its own':
        ['a<processes>1</processes>\\n\\377<processes>2</processes>b', 0, 'ab'],
      'processes that do not end are cut to the end': ['a<processes>1</process', 0, 'a'],
      'and so are those of one that was killed': ['a<processes>1</processes>b', 137, 'a'],
    } as const).map(([name, [said, code, kept]]) => ({
      name,
      script: aloneScript(['0000:18:00.0']),
      given: (host: Parameters<NonNullable<ScriptSuite['given']>>[0]) =>
        host.program('nvidia-smi', `[ "$3" != -i ] || { printf '${said}'; exit ${code}; }`),
      after: {
        stdout: `azp-fleet: gpu 0000:18:00.0 exit ${code}\n\n${kept}\nazp-fleet: more\n`,
        calls: [each[0] ?? '', ...more],
      },
    })),
    ...(['x86_64', 'aarch64'] as const).map((machine) => ({
      name: `and CUDA after it, with the program of ${machine}`,
      script: cuda,
      given: (host: Parameters<NonNullable<ScriptSuite['given']>>[0]) =>
        host.program('uname', `echo ${machine}`).program('timeout', 'echo 802; exit 3'),
      after: {
        stdout: 'azp-fleet: cuInit exit 3 802\n',
        calls: [whole, ...more, 'uname -m', 'timeout -k 5 20 /tmp/azp-fleet-cuda'],
        files: { '/tmp/azp-fleet-cuda': `700 ${callProgram(machine, 'libcuda.so.1', 'cuInit').toString()}` },
      },
    })),
    {
      name: 'but not on a machine that there is no program for',
      script: cuda,
      given: (host) => host.program('nvidia-smi', 'exit 14').program('uname', 'echo riscv64'),
      after: { code: 14, calls: [whole, ...more, 'uname -m'], files: { '/tmp/azp-fleet-cuda': '644 ' } },
    },
    {
      name: 'nor where the look has failed',
      script: cuda,
      given: (host) => host.program('nvidia-smi', 'exit 15'),
      after: { code: 15, calls: [whole] },
    },
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
