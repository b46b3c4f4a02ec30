import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { callProgram, explainCuda, machines, withCuda } from '../../../../src/shared/health/cuda.ts';
import { standInLibcuda } from '../../../../practice/lab/nvidia-packages.ts';

const architectures = { x64: 'x86_64', arm64: 'aarch64' } as const;
const here = process.arch === 'x64' || process.arch === 'arm64' ? process.arch : undefined;
const machine = here === undefined ? undefined : architectures[here];
const canRun = process.platform === 'linux' && machine !== undefined && existsSync(machines[machine].linker);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-cuda-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(script: string): { readonly code: number | null; readonly stdout: string } {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], LD_LIBRARY_PATH: folder, LC_ALL: 'C' },
  });
  expect(stderr).toBe('');
  return { code: status, stdout };
}

it.each(['x86_64', 'aarch64'] as const)(
  'the program for %s is small, and its parts do not overlap',
  (name) => {
    const program = callProgram(name, 'libcuda.so.1', 'cuInit');
    expect(program.length).toBe(792);
    expect(program.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    // The read-only mapping ends before the writable one.
    expect(program.readBigUInt64LE(64 + 56 + 32)).toBeLessThan(0x280n);
    expect(program.toString('latin1')).toContain(`${machines[name].linker}\0\0libcuda.so.1\0cuInit\0`);
  },
);

describe.runIf(canRun)('on this machine', () => {
  it('calls the function of a real library with 0 and prints its result', () => {
    const file = join(folder, 'getuid');
    writeFileSync(file, callProgram(machine ?? 'x86_64', 'libc.so.6', 'getuid'), { mode: 0o755 });
    expect(run(file)).toEqual({ code: 0, stdout: `${process.getuid?.()}\n` });
  });

  it.each([0, 1, 100, 802, 999])('prints the result of cuInit: %i', (answer) => {
    writeFileSync(join(folder, 'libcuda.so.1'), standInLibcuda(answer, here));
    expect(run(withCuda('echo looked; exit 14'))).toEqual({
      code: 14,
      stdout: `looked\nazp-fleet: cuInit exit 0 ${answer}\n`,
    });
  });

  it('reports a missing libcuda', () => {
    rmSync(join(folder, 'libcuda.so.1'), { force: true });
    const { code, stdout } = run(withCuda('exit 0'));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^azp-fleet: cuInit exit 127 .*libcuda\.so\.1/);
  });

  it('does not call CUDA after a failed check', () => {
    expect(run(withCuda('exit 9'))).toEqual({ code: 9, stdout: '' });
  });
});

test.each([
  ['it begins', 'exit 0 0', undefined],
  ['the fabric manager is not ready', 'exit 0 802', 'fail cuda.not-ready'],
  ['another driver', 'exit 0 803', 'fail driver.mismatch'],
  ["the image's own libcuda", 'exit 0 804', 'fail cuda.failed'],
  ['no device', 'exit 0 100', 'fail cuda.failed'],
  ['it takes long', 'exit 124 ', 'warn cuda.failed'],
  ['it takes long and does not exit', 'exit 137 Killed', 'warn cuda.failed'],
  [
    'no library',
    'exit 127 /tmp/azp-fleet-cuda: error while loading shared libraries: libcuda.so.1: cannot open shared object file: No such file or directory',
    'fail container.no-libcuda',
  ],
  [
    'a library without the function',
    'exit 127 /tmp/azp-fleet-cuda: symbol lookup error: /tmp/azp-fleet-cuda: undefined symbol: cuInit',
    'fail container.no-libcuda',
  ],
  ['unknown output', 'exit 0 well', 'fail container.no-libcuda'],
])('%s', (_, said, expected) => {
  const finding = explainCuda(`GPU 0: NVIDIA H200 (UUID: GPU-1)\nazp-fleet: cuInit ${said}\n`);
  expect(finding && `${finding.severity} ${finding.code}`).toBe(expected);
});

it('no finding without a call', () => {
  expect(explainCuda('GPU 0: NVIDIA H200\n')).toBeUndefined();
});
