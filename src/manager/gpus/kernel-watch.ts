import { isFatal, readXids } from '../../shared/health/xid.ts';
import { unscaled } from '../../shared/base/machine/clock.ts';
import type { HostRoot } from '../../shared/base/machine/host-root.ts';
import { pciGpus } from './pci.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** Real milliseconds. */
const againMs = 60_000;

/**
 * Arguments of `sh` that follow the kernel log. Without its device, dmesg would print the whole old log instead of
 * what is new, and end.
 */
export function followNew({ prefix }: HostRoot): readonly string[] {
  const device = `${prefix}/dev/kmsg`;
  return ['-c', '[ -r "$0" ] || { echo "$0 cannot be read" >&2; exit 1; }; exec dmesg --follow-new', device];
}

/**
 * Follows the kernel log and tells at once when the driver reports an error there after which a GPU must not take
 * jobs. What it misses, while it is away or where there is no /dev/kmsg, the next look finds.
 */
export async function watchKernelLog(
  tools: Pick<ManagerDeps, 'root' | 'follow' | 'clock' | 'log' | 'signal'>,
  onFatal: () => void,
): Promise<void> {
  const { root, follow, clock, log, signal } = tools;
  let complained = false;
  while (!signal.aborted) {
    if ((await pciGpus(root)).served.length > 0) {
      const tell = (line: string): void => {
        if (readXids(line).some(isFatal)) onFatal();
      };
      const { complaint } = await follow('sh', followNew(root), tell, signal);
      if (!signal.aborted && !complained) {
        complained = true;
        log.log('info', 'the kernel log cannot be followed; it is read at each look', { seen: complaint });
      }
    }
    await clock.wait(unscaled(clock, againMs), signal);
  }
}
