import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';

import { machines } from '../../../../src/shared/health/cuda.ts';
import { deepCheck, type DeepRun, deepScript, explainDeep } from '../../../../src/shared/health/deep.ts';
import { compute, computed, pattern, ptx, seeds } from '../../../../src/shared/health/deep-kernels.ts';
import { deepProgram } from '../../../../src/shared/health/deep-program.ts';
import type { GpuReport } from '../../../../src/shared/health/smi-report.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';

const canRun = process.platform === 'linux' && process.arch === 'x64' && existsSync(machines.x86_64.linker);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-deep-'));
  copyFileSync('test/fixtures/cuda/stand-in.so', join(folder, 'libcuda.so.1'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the script of the container with a libcuda that fails like this, and free memory as nvidia-smi prints it. */
function run(standIn: string, free = '64', script = deepScript()): DeepRun {
  const smi = join(folder, 'nvidia-smi');
  writeFileSync(smi, `#!/bin/sh\nprintf '%s\\n' '${free}'\n`);
  chmodSync(smi, 0o755);
  const { stdout, stderr } = spawnSync('sh', ['-c', script], {
    encoding: 'utf8',
    env: {
      PATH: `${folder}:${process.env['PATH']}`,
      LD_LIBRARY_PATH: folder,
      LC_ALL: 'C',
      CUDA_STAND_IN: standIn,
    },
  });
  return { output: `${stdout}${stderr}`, timedOut: false };
}

const shown = ({ severity, code, gpu, what }: Finding): string => `${severity} ${code} ${gpu}: ${what}`;
const found = (...given: Parameters<typeof run>): string => shown(explainDeep(run(...given), 'GPU-1'));

describe.runIf(canRun)('with a libcuda that runs the kernels on the CPU', () => {
  test.each([
    [
      'a healthy GPU: half of the free memory is tested',
      '',
      '64',
      'info deep.passed GPU-1: deep check passed: a kernel returned its 256 values, and 32 MiB of memory kept theirs',
    ],
    [
      'a wrong result',
      'result',
      '64',
      'fail deep.wrong-result GPU-1: a kernel ran on it and returned a wrong result',
    ],
    [
      'a bit that is lost at an address',
      'bits=1000',
      '64',
      'fail deep.memory GPU-1: 1 word of its memory changed; the first at offset 0xfa0 of the tested part: 0xa219f1c2 was written, 0xa219f0c2 was read',
    ],
    [
      'an old driver that does not compile the PTX',
      'ptx=222',
      '64',
      'warn deep.ptx-rejected GPU-1: its driver does not compile the kernel of the deep check (CUDA error 222)',
    ],
    [
      'less memory than nvidia-smi shows',
      'memory=16',
      '64',
      'warn deep.no-memory GPU-1: no memory to test: CUDA finds no free memory (error 2)',
    ],
    [
      'no free memory',
      '',
      '12',
      'warn deep.no-memory GPU-1: no memory to test: 12 MiB of its memory are free',
    ],
    [
      'memory that nvidia-smi cannot read',
      '',
      '[N/A]',
      'info deep.skipped GPU-1: not tested by the deep check: the check cannot start: [N/A]',
    ],
    [
      'another process on a GPU in compute mode Exclusive',
      'create=46',
      '64',
      'info deep.skipped GPU-1: not tested by the deep check: another process has it (CUDA error 46)',
    ],
    [
      'an uncorrectable error of the memory',
      'sync=214',
      '64',
      'fail deep.failed GPU-1: cuCtxSynchronize returns CUDA error 214 in the deep check',
    ],
    [
      'no device',
      'init=100',
      '64',
      'fail deep.failed GPU-1: cuInit returns CUDA error 100 in the deep check',
    ],
  ])('%s', (_, standIn, free, expected) => expect(found(standIn, free)).toBe(expected));

  it('ends by its own alarm when the GPU hangs', () => {
    const quick = deepScript().replace(
      /x86_64\) program=\S+/,
      () => `x86_64) program=${deepProgram('x86_64', 1).toString('base64')}`,
    );
    const { output } = run('hang', '64', quick);
    expect(output).toMatch(/^azp-fleet: deep exit 142$/m);
    expect(shown(explainDeep({ output, timedOut: false }, 'GPU-1'))).toBe(
      'fail deep.hung GPU-1: the deep check did not end within 20 s: the kernel hangs',
    );
  });

  it('needs a libcuda with all its functions', () => {
    rmSync(join(folder, 'libcuda.so.1'));
    expect(found('')).toMatch(
      /^fail deep\.failed GPU-1: the program of the deep check ended early \(exit 127\): .*libcuda\.so\.1/,
    );
  });
});

test.each([
  ['the container did not end', '', true, 'fail deep.hung'],
  ['it hangs in the memory test', 'kernel\n', true, 'fail deep.hung'],
  ['timeout ended it', 'exit 124\n', false, 'fail deep.hung'],
  ['timeout killed it', 'kernel\nazp-fleet: deep exit 137\n', false, 'fail deep.hung'],
  ['no output is no pass', '', false, 'fail deep.failed'],
  ['an end without a kernel is no pass', 'done 1048576\nazp-fleet: deep exit 0\n', false, 'fail deep.failed'],
  [
    'one pass over the memory is no pass',
    'kernel\nazp-fleet: deep memory 0 ffffffffffffffff\nazp-fleet: deep done 9\nazp-fleet: deep exit 0\n',
    false,
    'fail deep.failed',
  ],
  ['a memory line that is not understood', 'kernel\nazp-fleet: deep memory x\n', false, 'fail deep.failed'],
  ['the PTX compiler is missing', 'failed cuModuleLoadData 221\n', false, 'warn deep.ptx-rejected'],
  ['another fault of loading', 'failed cuModuleLoadData 700\n', false, 'fail deep.failed'],
])('%s', (_, printed, timedOut, expected) => {
  const output = printed === '' ? '' : `azp-fleet: deep ${printed}`;
  const { severity, code } = explainDeep({ output, timedOut }, 'GPU-1');
  expect(`${severity} ${code}`).toBe(expected);
});

it('takes no output for a pass but its own, and keeps no control characters', () => {
  const line = fc.constantFrom(
    'azp-fleet: deep kernel',
    'azp-fleet: deep exit 0',
    'azp-fleet: deep done 5',
    '\u001B[31mx',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(line, fc.string())), fc.boolean(), (lines, timedOut) => {
      const { code, what } = explainDeep({ output: lines.join('\n'), timedOut }, 'GPU-1');
      expect(code).not.toBe('deep.passed');
      expect(what).not.toMatch(/[\u0000-\u001F]/);
    }),
  );
});

describe('the kernels', () => {
  it('have balanced braces, and every label that is branched to', () => {
    expect(ptx.split('{').length).toBe(ptx.split('}').length);
    const labels = [...ptx.matchAll(/^(\$\w+):$/gm)].map(([, label]) => label);
    const branches = [...ptx.matchAll(/bra (\$\w+);/g)].map(([, label]) => label);
    expect(new Set(branches)).toEqual(new Set(labels));
    for (const body of ptx.split('.visible .entry ').slice(1)) {
      const declared = new Map(
        [...body.matchAll(/\.reg \.\w+ (%[a-z]+)<(\d+)>/g)].map(([, name = '', count]) => [
          name,
          Number(count),
        ]),
      );
      for (const [, name = '', number] of body.matchAll(/(%(?:p|r|rd|f))(\d+)\b/g))
        expect(Number(number)).toBeLessThan(declared.get(name) ?? 0);
    }
  });

  it('write every bit of a word as 0 and as 1', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 28 }), (index) => {
        const [first, second] = seeds.map((seed) => pattern(index, seed));
        expect(((first ?? 0) ^ (second ?? 0)) >>> 0).toBe(0xffff_ffff);
      }),
    );
  });

  it('compute values that differ between threads', () => {
    expect(new Set(computed()).size).toBe(compute.threads);
  });
});

it.each(['x86_64', 'aarch64'] as const)(
  'the program for %s fits one argument of a container, and its parts do not overlap',
  (name) => {
    const program = deepProgram(name, 20);
    expect(program.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    const [textEnd, dataAt] = [
      program.readBigUInt64LE(64 + 56 + 32),
      program.readBigUInt64LE(64 + 2 * 56 + 8),
    ];
    expect(textEnd).toBeLessThanOrEqual(dataAt);
    expect(Buffer.byteLength(deepScript())).toBeLessThan(128 * 1024);
  },
);

const gpu = (uuid: string, more: Partial<GpuReport> = {}) =>
  ({ uuid, busId: `0000:0${uuid.at(-1)}:00.0`, migDevices: [], ...more }) as unknown as GpuReport;

describe('which GPUs are tested', () => {
  const tested = async (
    gpus: readonly GpuReport[],
    known: readonly Finding[],
    busy: (uuid: string) => string | undefined,
  ) => {
    const order: string[] = [];
    const findings = await deepCheck(gpus, known, {
      busy: async ({ uuid }) => {
        order.push(`ask ${uuid}`);
        return busy(uuid);
      },
      run: async (uuid) => {
        order.push(`run ${uuid}`);
        return { output: 'azp-fleet: deep failed result 1\n', timedOut: false };
      },
    });
    return { order, findings: findings.map(shown) };
  };

  it('asks right before each GPU, and leaves those that somebody has', async () => {
    const { order, findings } = await tested([gpu('GPU-1'), gpu('GPU-2')], [], (uuid) =>
      uuid === 'GPU-1' ? 'process 77 python3 has it open' : undefined,
    );
    expect(order).toEqual(['ask GPU-1', 'ask GPU-2', 'run GPU-2']);
    expect(findings).toEqual([
      'info deep.skipped GPU-1: not tested by the deep check: process 77 python3 has it open',
      'fail deep.wrong-result GPU-2: a kernel ran on it and returned a wrong result',
    ]);
  });

  test.each<[string, GpuReport, Partial<Finding>, string]>([
    ['MIG', gpu('GPU-1', { migMode: 'enabled' }), { gpu: 'GPU-9' }, 'MIG divides it'],
    ['a fault of the GPU', gpu('GPU-1'), { gpu: 'GPU-1' }, 'it has a problem already (gpu.lost)'],
    ['a fault of the host', gpu('GPU-1'), {}, 'it has a problem already (gpu.lost)'],
  ])('%s: not tested', async (_, each, at, why) => {
    const known: Finding = { code: 'gpu.lost', severity: 'fail', what: '', next: '', ...at };
    const { order, findings } = await tested([each], [known], () => undefined);
    expect(order).toEqual([]);
    expect(findings).toEqual([`info deep.skipped GPU-1: not tested by the deep check: ${why}`]);
  });
});
