import { FleetError } from '../../shared/base/errors.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { sh } from '../../shared/base/shell.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { Session } from '../ssh/transport.ts';

/**
 * Prints the device number of each GPU, and the processes that have one open. It asks no driver, so that it cannot hang on a GPU. `find`
 * ends with 1 where a process has ended.
 */
export function gpuUseScript({ prefix }: HostRoot): string {
  return `${sh`root=${prefix}`}
for file in "$root"/proc/driver/nvidia/gpus/*/information; do
  [ -r "$file" ] || continue
  gpu=\${file%/information}
  while read -r key word value; do
    case "$key $word" in 'Device Minor:') echo "minor $value \${gpu##*/}" ;; esac
  done <"$file"
done
files=$(find /proc/[0-9]*/fd -lname '/dev/nvidia[0-9]*' 2>/dev/null) || [ "$?" -eq 1 ] || exit 1
for file in $files; do
  pid=\${file#/*/}
  pid=\${pid%%/*}
  device=$(readlink "$file") || continue
  read -r name 2>/dev/null <"/proc/$pid/comm" || continue
  echo "open \${device#/dev/nvidia} $pid $name"
done
echo end
`;
}

/** Who has each GPU open, by PCI address: `77 python3`. A GPU without an entry has no known device number. */
export type GpuUse = ReadonlyMap<string, readonly string[]>;

/** The driver's own daemons and tools keep GPUs open, and compute nothing. */
const services = /^(?:nvidia-.*|nv-fabricmanage.*|nv-hostengine)$/;

/** Parses the output of `gpuUseScript`. Pure. */
export function readGpuUse(output: string): Answered<GpuUse> {
  const lines = output.split('\n');
  if (!lines.includes('end')) return { kind: 'unknown', why: 'the list of processes is not whole' };
  const open = lines.flatMap((line) => {
    const [, minor = '', pid = '', name = ''] = /^open (\d{1,4}) (\d{1,10}) (.+)$/.exec(line) ?? [];
    return minor === '' || services.test(name) ? [] : [{ minor, process: `${pid} ${foreignLine(name, 40)}` }];
  });
  const gpus = lines.flatMap((line) => {
    const [, minor, address] = /^minor (\d{1,4}) ([\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.\d)$/.exec(line) ?? [];
    return minor === undefined || address === undefined ? [] : [{ minor, address }];
  });
  return {
    kind: 'value',
    value: new Map(
      gpus.map(({ minor, address }) => [
        address,
        [...new Set(open.filter((each) => each.minor === minor).map(({ process }) => process))],
      ]),
    ),
  };
}

/** Reads who has the GPUs of a host open. */
export async function gpuUse(session: Pick<Session, 'script'>, root: HostRoot): Promise<Answered<GpuUse>> {
  try {
    const { code, stdout } = await session.script(gpuUseScript(root), { as: 'root', totalTimeoutMs: 15_000 });
    return code === 0 ? readGpuUse(stdout) : { kind: 'unknown', why: `the script exits with ${code}` };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { kind: 'unknown', why: error.problem.what };
  }
}

/** What the manager says now about its slots; `none`: the host has no manager, so no agent. */
export type SlotsNow = Answered<Pick<ManagerStatus, 'slots'>> | { readonly kind: 'none' };

/**
 * Returns why a GPU must not be tested: a job runs on it, an agent may take one, a process has it open, or one of this is not known.
 * Undefined: it is free. Pure.
 */
export function whyInUse(
  { uuid, busId, migDevices }: Pick<GpuReport, 'uuid' | 'busId' | 'migDevices'>,
  now: SlotsNow,
  use: Answered<GpuUse>,
): string | undefined {
  if (now.kind === 'unknown') return `whether an agent may take a job on it is unknown: ${now.why}`;
  const parts = new Set([uuid, ...migDevices.flatMap((device) => device.uuid ?? [])]);
  const slots = now.kind === 'none' ? [] : now.value.slots;
  const slot = slots.find(
    ({ gpus, state, container }) =>
      (state !== 'drained' || container !== undefined) && gpus.some((gpu) => parts.has(gpu)),
  );
  if (slot?.state === 'busy') return `${slot.agent} runs ${slot.job ?? 'a job'} on it`;
  if (slot !== undefined) return `${slot.agent} may take a job on it: it is not drained`;
  if (use.kind === 'unknown') return `which processes have it open is unknown: ${use.why}`;
  const processes = use.value.get(busId);
  if (processes === undefined)
    return 'which processes have it open is unknown: its device number cannot be read';
  return processes.length === 0 ? undefined : `process ${processes.slice(0, 3).join(', ')} has it open`;
}
