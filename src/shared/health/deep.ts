import { foreignLine } from '../base/foreign-text.ts';
import { sh } from '../base/shell.ts';
import { machines } from './cuda.ts';
import { compute, pattern, seeds } from './deep-kernels.ts';
import { bytesVariable, type DeepMachine, deepPrefix, deepProgram } from './deep-program.ts';
import type { GpuReport } from './smi-report.ts';
import type { Finding } from './verdict.ts';

/** Seconds of one GPU: the program ends itself, then `timeout` ends it. */
const seconds = 20;
/** Milliseconds for its container: also where the program hangs in the kernel. */
export const deepDeadlineMs = (seconds + 20) * 1000;
/** Most memory that is tested: half of the free memory, and at most this. */
const mostMiB = 1024;
const leastMiB = 16;

/** Returns the script of the deep check of the only GPU in a container. It prints lines that begin with `azp-fleet: deep`. */
export function deepScript(): string {
  const cases = (Object.keys(machines) as DeepMachine[])
    .map((name) => sh`  ${name}) program=${deepProgram(name, seconds).toString('base64')} ;;`)
    .join('\n');
  return `free=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits 2>&1)
case $free in
  '' | *[!0-9]*)
    echo "${deepPrefix} unread $free"
    exit 0
    ;;
esac
mib=$((free / 2))
if [ "$mib" -gt ${mostMiB} ]; then mib=${mostMiB}; fi
if [ "$mib" -lt ${leastMiB} ]; then
  echo "${deepPrefix} free $free"
  exit 0
fi
case $(uname -m) in
${cases}
  *) program= ;;
esac
file=/tmp/azp-fleet-deep
if printf %s "$program" | base64 -d >"$file" && [ -s "$file" ] && chmod 700 "$file"; then
  ${bytesVariable}=$((mib * 1048576))
  export ${bytesVariable} CUDA_CACHE_DISABLE=1
  timeout -k 5 ${seconds + 2} "$file" 2>&1
  echo "${deepPrefix} exit $?"
else
  echo "${deepPrefix} unread the program cannot be written"
fi
`;
}

/** The output of a container that ran this script. */
export interface DeepRun {
  readonly output: string;
  /** The container did not end in time. */
  readonly timedOut: boolean;
}

type Found = Omit<Finding, 'gpu'>;

const kernelLog = 'check `journalctl -k | grep NVRM` on the host';
const replace = `drain the host and run NVIDIA’s field diagnostics; ${kernelLog}, and plan to replace the card`;

/** Returns what the deep check found on a GPU: always one finding, since silence would look like a pass. Pure. */
export function explainDeep(run: DeepRun, gpu: string): Finding {
  return { ...explained(run), gpu };
}

function explained({ output, timedOut }: DeepRun): Found {
  const lines = output.split('\n').flatMap((line) => {
    const [, word, rest = ''] = /^azp-fleet: deep ([a-z]+) ?(.*)$/.exec(line) ?? [];
    return word === undefined ? [] : [{ word, rest: foreignLine(rest, 200) }];
  });
  const first = (name: string) => lines.find(({ word }) => word === name)?.rest;
  const unread = first('unread');
  if (unread !== undefined) return skipped(`the check cannot start: ${unread}`);
  const free = first('free');
  if (free !== undefined) return noMemory(`${free} MiB of its memory are free`);
  const failed = first('failed');
  if (failed !== undefined) return stepFailed(failed);
  const memory = lines.filter(({ word }) => word === 'memory').map(({ rest }) => rest);
  const mismatch = memory.flatMap((rest, pass) => mismatchIn(rest, seeds[pass] ?? 0)).at(0);
  if (mismatch !== undefined) return mismatch;
  const exit = first('exit');
  // 142: its own alarm (SIGALRM); 124 and 137: `timeout`.
  if (timedOut || ['142', '124', '137'].includes(exit ?? '')) return hung(lines.map(({ word }) => word));
  const [, bytes] = /^(\d{1,12})$/.exec(first('done') ?? '') ?? [];
  const isWhole = first('kernel') !== undefined && memory.length === seeds.length;
  if (exit === '0' && isWhole && bytes !== undefined)
    return {
      code: 'deep.passed',
      severity: 'info',
      what: `deep check passed: a kernel returned its ${compute.threads} values, and ${Number(bytes) / 2 ** 20} MiB of memory kept theirs`,
      next: 'no action needed',
    };
  return notRun(output, exit);
}

function mismatchIn(rest: string, seed: number): readonly Found[] {
  const [, count = '', place = ''] = /^(\d{1,20}) ([\da-f]{1,16})$/.exec(rest) ?? [];
  if (count === '0') return [];
  if (count === '') return [notRun(`memory ${rest}`, undefined)];
  const packed = BigInt(`0x${place}`);
  const index = Number(packed >> 32n);
  const hex = (value: number): string => `0x${value.toString(16).padStart(8, '0')}`;
  const read = hex(Number(packed & 0xffff_ffffn));
  return [
    {
      code: 'deep.memory',
      severity: 'fail',
      what: `${count} ${count === '1' ? 'word' : 'words'} of its memory changed; the first at offset 0x${(4 * index).toString(16)} of the tested part: ${hex(pattern(index, seed))} was written, ${read} was read`,
      next: replace,
    },
  ];
}

/** Errors of cuModuleLoadData that mean that this driver does not compile the kernels: CUDA Driver API, `CUresult`. */
const ofPtx = new Set(['209', '218', '221', '222']);

function stepFailed(failed: string): Found {
  const [step = '', number = ''] = failed.split(' ');
  if (step === 'result')
    return {
      code: 'deep.wrong-result',
      severity: 'fail',
      what: 'a kernel ran on it and returned a wrong result',
      next: replace,
    };
  if (step === 'cuModuleLoadData' && ofPtx.has(number))
    return {
      code: 'deep.ptx-rejected',
      severity: 'warn',
      what: `its driver does not compile the kernel of the deep check (CUDA error ${number})`,
      next: 'install a newer driver branch; check that the container has libnvidia-ptxjitcompiler.so.1 of the driver',
    };
  if (step === 'cuMemAlloc' && number === '2') return noMemory('CUDA finds no free memory (error 2)');
  // CUDA_ERROR_DEVICE_UNAVAILABLE: compute mode Exclusive, and a process has it.
  if (number === '46') return skipped('another process has it (CUDA error 46)');
  return {
    code: 'deep.failed',
    severity: 'fail',
    what: `${foreignLine(step, 40)} returns CUDA error ${foreignLine(number, 20)} in the deep check`,
    next: kernelLog,
  };
}

function noMemory(what: string): Found {
  return {
    code: 'deep.no-memory',
    severity: 'warn',
    what: `no memory to test: ${what}`,
    next: 'find who holds it: `nvidia-smi` and `fuser -v /dev/nvidia*` on the host',
  };
}

/** `steps`: what the program had printed. */
function hung(steps: readonly string[]): Found {
  const during = steps.includes('kernel') ? 'memory test' : 'kernel';
  return {
    code: 'deep.hung',
    severity: 'fail',
    what: `the deep check did not end within ${seconds} s: the ${during} hangs`,
    next: `drain and reboot the host; ${kernelLog}`,
  };
}

function notRun(output: string, exit: string | undefined): Found {
  const last = output
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith(`${deepPrefix} exit `))
    .at(-1);
  const said = last === undefined ? '' : `: ${foreignLine(last, 200)}`;
  return {
    code: 'deep.failed',
    severity: 'fail',
    what: `the program of the deep check ended early${exit === undefined ? '' : ` (exit ${exit})`}${said}`,
    next: kernelLog,
  };
}

/** Reports that a GPU was not tested, with the reason: that is neither good nor bad. */
export function skipped(why: string): Found {
  return {
    code: 'deep.skipped',
    severity: 'info',
    what: `not tested by the deep check: ${why}`,
    next: 'drain the host (`azp-fleet drain HOST --wait`), end other processes on its GPUs, and run it again',
  };
}

/** Runs the deep check on each GPU that no job and no process has, one after the other. `run`: in a container with only this GPU. */
export async function deepCheck(
  gpus: readonly GpuReport[],
  known: readonly Finding[],
  { busy, run }: DeepTools,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const gpu of gpus) {
    const id = gpu.uuid || gpu.busId;
    const why = notTestable(gpu, known) ?? (await busy(gpu));
    findings.push(why === undefined ? explainDeep(await run(gpu.uuid), id) : { ...skipped(why), gpu: id });
  }
  return findings;
}

export interface DeepTools {
  /** Returns who has the GPU, or may get it, or why that is not known; undefined: it is free. Asked right before each run. */
  readonly busy: (gpu: GpuReport) => Promise<string | undefined>;
  readonly run: (uuid: string) => Promise<DeepRun>;
}

function notTestable({ uuid, busId, migMode }: GpuReport, known: readonly Finding[]): string | undefined {
  if (uuid === '') return 'its UUID cannot be read';
  if (migMode === 'enabled') return 'MIG divides it';
  const fault = known.find(
    ({ severity, gpu }) => severity === 'fail' && (gpu === undefined || gpu === uuid || gpu === busId),
  );
  return fault && `it has a problem already (${fault.code})`;
}
