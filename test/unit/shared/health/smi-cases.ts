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
  name: 'GPU checks and the kernel log',
  flags: [],
  given: (host) =>
    host
      .program('nvidia-smi', '')
      .device('/dev/nvidiactl')
      .device('/dev/nvidia-uvm')
      .program('dmesg', 'echo new'),
  cases: [
    {
      name: 'one query for all GPUs, with the values that the listing lacks',
      script,
      after: { calls: [whole, ...more] },
    },
    {
      name: 'a missing module is reported',
      script,
      given: (host) => host.drop('/dev/nvidia-uvm'),
      after: { stdout: 'azp-fleet: no /dev/nvidia-uvm\n', calls: [whole, ...more] },
    },
    {
      name: 'but not without an NVIDIA driver',
      script,
      given: (host) => host.drop('/dev/nvidia-uvm', '/dev/nvidiactl'),
      after: { calls: [whole, ...more] },
    },
    {
      name: 'with a damaged InfoROM the listing is complete',
      script,
      given: (host) => host.program('nvidia-smi', 'exit 14'),
      after: { code: 14, calls: [whole, ...more] },
    },
    {
      name: 'a failed query ends the script with its exit code',
      script,
      given: (host) => host.program('nvidia-smi', 'exit 15'),
      after: { code: 15, calls: [whole] },
    },
    {
      name: 'a query for each GPU, with its address and exit code',
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
      name: 'a missing module is reported here, too',
      script: alone,
      given: (host) => host.drop('/dev/nvidia-uvm'),
      after: {
        stdout:
          'azp-fleet: gpu 0000:18:00.0 exit 0\n\n\nazp-fleet: gpu 0000:3b:00.0 exit 0\n\n\nazp-fleet: more\nazp-fleet: no /dev/nvidia-uvm\n',
        calls: [...each, ...more],
      },
    },
    ...Object.entries({
      'processes are cut, from the first tag to the last, also if a name contains tags and other bytes': [
        'a<processes>1</processes>\\n\\377<processes>2</processes>b',
        0,
        'ab',
      ],
      'what follows them stays for a GPU with a damaged infoROM': ['a<processes>1</processes>b', 14, 'ab'],
      'an unclosed process list is cut to the end': ['a<processes>1</process', 0, 'a'],
      'and so is the list of a killed query': ['a<processes>1</processes>b', 137, 'a'],
    } as const).map(([name, [said, code, kept]]) => ({
      name,
      script: aloneScript(['0000:18:00.0']),
      given: (host: Parameters<NonNullable<ScriptSuite['given']>>[0]) =>
        host.program('nvidia-smi', `[ "$3" != -i ] || { printf '${said}'; exit ${code}; }`),
      run: { env: { LANG: 'C.UTF-8' } },
      after: {
        stdout: `azp-fleet: gpu 0000:18:00.0 exit ${code}\n\n${kept}\nazp-fleet: more\n`,
        calls: [each[0] ?? '', ...more],
      },
    })),
    ...(['x86_64', 'aarch64'] as const).map((machine) => ({
      name: `then CUDA, with the program for ${machine}`,
      script: cuda,
      given: (host: Parameters<NonNullable<ScriptSuite['given']>>[0]) =>
        host
          .program('uname', `echo ${machine}`)
          .program('timeout', 'echo 802; echo "a word" >&2; exit 3')
          .file('/tmp/azp-fleet-cuda', 'from an earlier check'),
      after: {
        stdout: 'azp-fleet: cuInit exit 3 802\na word\n',
        calls: [whole, ...more, 'uname -m', 'timeout -k 5 20 /tmp/azp-fleet-cuda'],
        files: { '/tmp/azp-fleet-cuda': `700 ${callProgram(machine, 'libcuda.so.1', 'cuInit').toString()}` },
      },
    })),
    {
      name: 'but not on a machine without a program',
      script: cuda,
      given: (host) => host.program('nvidia-smi', 'exit 14').program('uname', 'echo riscv64'),
      run: { env: { program: 'eA==' } },
      after: { code: 14, calls: [whole, ...more, 'uname -m'], files: { '/tmp/azp-fleet-cuda': '644 ' } },
    },
    {
      name: 'nor after a failed check',
      script: cuda,
      given: (host) => host.program('nvidia-smi', 'exit 15'),
      after: { code: 15, calls: [whole] },
    },
    {
      name: 'only new lines of the kernel log',
      script: follow,
      given: (host) => host.file('/dev/kmsg'),
      run: { flags: ['-c', '. "$1"', '/dev/kmsg'] },
      after: { stdout: 'new\n', calls: ['dmesg --follow-new'] },
    },
    {
      name: 'not the old lines if the device for new ones is missing',
      script: follow,
      run: { flags: ['-c', '. "$1"', '/dev/kmsg'] },
      after: { code: 1, stderr: '/dev/kmsg cannot be read\n' },
    },
  ],
};
