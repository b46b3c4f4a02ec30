import { defined } from '../../base/defined.ts';
import { flag, text } from '../values.ts';
import type { XmlElement } from '../xml.ts';
import { faultLike, resetGpu, tell } from './judge.ts';
import { family } from './rule.ts';

/** A GPU that is gone, or asks to be brought back. */
export const failure = family({
  read: (gpu) =>
    defined({
      /** None, Reset, Reboot, Drain P2P, Drain and Reset; older drivers' reset status is put into these words. */
      recoveryAction: recoveryAction(gpu),
    }),
  rules: [
    {
      code: 'gpu.lost',
      severity: 'fail',
      when: 'a value reads `GPU is lost` or `requires reset`',
      source: 'nvidia-smi manual',
      seen: ({ faults }) => faultLike(faults, /lost|requires reset/i),
      next: 'reboot the host; if it comes back, have the hardware looked at',
    },
    {
      code: 'gpu.recovery-action',
      severity: 'fail',
      when: 'asks for Reset, Reboot, Drain and Reset (older drivers: reset required, drain and reset recommended)',
      source: 'as DCGM does',
      seen: ({ recoveryAction: action = 'None' }) =>
        tell(/reset|reboot/i.test(action), `it asks for: ${action}`),
      next: resetGpu,
    },
    {
      code: 'gpu.recovery-minor',
      severity: 'warn',
      when: 'asks for anything else, as Drain P2P',
      source: 'as DCGM does',
      seen: ({ recoveryAction: action = 'None' }) =>
        tell(!/^none$|reset|reboot/i.test(action), `it asks for: ${action}`),
      next: 'do what it asks for when its job has ended',
    },
  ],
});

function recoveryAction(gpu: XmlElement): string | undefined {
  const action = text(gpu, 'gpu_recovery_action');
  if (action !== undefined) return action.replace(/^(?:GPU|Node) /, '');
  if (flag(gpu, 'gpu_reset_status.reset_required') === true) return 'Reset';
  return flag(gpu, 'gpu_reset_status.drain_and_reset_recommended') === true ? 'Drain and Reset' : undefined;
}
