import type { Checkup } from './checkup.ts';
import type { SmiReport } from './report.ts';
import type { Finding } from './verdict.ts';

/**
 * Why a slot with these GPUs (`GPU-…` or `MIG-…` UUIDs) must not take jobs, if so. A finding about one GPU stops the
 * slots on that GPU; one about the host stops all, but for the plain count: the GPUs that are there still work.
 * Without a report nothing is known to work. A slot without GPUs is never stopped.
 */
export function blocker(checkup: Checkup, gpus: readonly string[]): Finding | undefined {
  const { report, findings } = checkup;
  if (gpus.length === 0) return undefined;
  const boards = report === undefined ? [] : gpus.map((uuid) => boardOf(report, uuid));
  const finding = findings.find(({ severity, gpu, code }) => {
    if (severity !== 'fail' || code === 'gpu.count') return false;
    return gpu === undefined || report === undefined || boards.includes(gpu);
  });
  const lost = gpus.find((_, index) => report !== undefined && boards[index] === undefined);
  return finding ?? (lost === undefined ? undefined : gone(lost));
}

/** The UUID of the board that a GPU or MIG device is on. A MIG device is taken as there while no listing names any. */
function boardOf({ gpus }: SmiReport, uuid: string): string | undefined {
  const board = gpus.find(
    (gpu) => gpu.uuid === uuid || gpu.migDevices.some((device) => device.uuid === uuid),
  );
  if (board !== undefined) return board.uuid;
  const listed = gpus.some(({ migDevices }) => migDevices.some((device) => device.uuid !== undefined));
  return uuid.startsWith('MIG-') && !listed ? uuid : undefined;
}

function gone(uuid: string): Finding {
  return {
    code: 'gpu.missing',
    gpu: uuid,
    severity: 'fail',
    what: `${uuid} is not there`,
    next: 'compare `nvidia-smi -L` on the host with the inventory; after a lost GPU, reboot the host',
  };
}
