import type { Finding } from '../verdict.ts';
import { classifyXid, type XidClass, type XidEvent } from './xid.ts';

const mark = '; afterwards: azp-fleet repaired HOST --gpu {gpu}';

const actions: Readonly<Record<XidClass, { readonly severity: Finding['severity']; readonly next: string }>> =
  {
    info: { severity: 'info', next: 'look at the jobs that ran if it comes often' },
    watch: { severity: 'warn', next: `watch it; if it comes again, drain and reset the GPU${mark}` },
    config: { severity: 'warn', next: 'check the vGPU configuration and its licence' },
    'reset-when-idle': {
      severity: 'warn',
      next: `reset it when idle: \`nvidia-smi --gpu-reset -i {gpu}\`${mark}`,
    },
    'recovery-action': { severity: 'info', next: 'follow the recovery action that nvidia-smi shows' },
    support: {
      severity: 'fail',
      next: 'drain the host, run nvidia-bug-report.sh and ask NVIDIA or the vendor',
    },
    reset: {
      severity: 'fail',
      next: `drain it and reset it: \`nvidia-smi --gpu-reset -i {gpu}\`, or reboot${mark}`,
    },
    reboot: {
      severity: 'fail',
      next: 'drain and reboot the host; if it comes back, have the hardware looked at',
    },
    hardware: { severity: 'fail', next: 'have power cables and the card looked at' },
  };

/** After it the GPU must not take jobs until somebody has done something. */
export function isFatal({ xid }: XidEvent): boolean {
  return actions[classifyXid(xid).class].severity === 'fail';
}

/** One finding for each GPU and number, with how often it came. `uuidOf` turns a PCI address into what findings name. */
export function checkXids(
  events: readonly XidEvent[],
  uuidOf: (busId: string) => string,
): readonly Finding[] {
  const groups = Map.groupBy(events, ({ gpu, xid }) => `${gpu} ${xid}`);
  return [...groups.values()].flatMap((group) => {
    const last = group.at(-1);
    if (last === undefined) return [];
    const { class: kind, what } = classifyXid(last.xid);
    const times = group.length > 1 ? `, ${group.length} times` : '';
    return [
      {
        code: `xid.${last.xid}`,
        gpu: uuidOf(last.gpu),
        severity: actions[kind].severity,
        what: `XID ${last.xid} in the kernel log${times}: ${what}`,
        next: actions[kind].next.replaceAll('{gpu}', last.gpu),
      },
    ];
  });
}
