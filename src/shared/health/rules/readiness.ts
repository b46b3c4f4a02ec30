import { defined } from '../../base/defined.ts';
import { text } from '../values.ts';
import type { XmlElement } from '../xml.ts';
import { tell } from './judge.ts';
import { family } from './rule.ts';

/** What must have been set up before anything can compute on it. */
export const readiness = family({
  read: (gpu) => ({ fabric: fabricOf(gpu) }),
  rules: [
    {
      code: 'gpu.fabric',
      severity: 'fail',
      when: 'NVLink fabric Not Started, or Completed without Success (SXM boards)',
      source: 'CUDA then fails with 802',
      seen: ({ fabric }) => fabricFault(fabric),
      next: 'see `systemctl status nvidia-fabricmanager`: its version must equal the driver’s',
    },
    {
      code: 'gpu.fabric-starting',
      severity: 'warn',
      when: 'NVLink fabric In Progress',
      seen: ({ fabric }) => tell(fabric.state === 'In Progress', 'its NVLink fabric is still being set up'),
      next: 'wait a minute; then see `systemctl status nvidia-fabricmanager`',
    },
    {
      code: 'gpu.mig-empty',
      severity: 'fail',
      when: 'MIG on without an instance',
      source: 'nothing can compute there',
      seen: ({ migMode, migDevices }) =>
        tell(migMode === 'enabled' && migDevices.length === 0, 'MIG is on and no instance has been made'),
      next: 'make instances (`nvidia-smi mig -cgi …  -C`) or turn MIG off (`nvidia-smi -i {bus} -mig 0`)',
    },
  ],
});

/** NVLink fabric of SXM boards: Completed, In Progress, Not Started, … */
function fabricOf(gpu: XmlElement) {
  return defined({ state: text(gpu, 'fabric.state'), status: text(gpu, 'fabric.status') });
}

function fabricFault({ state, status }: ReturnType<typeof fabricOf>): string | undefined {
  if (state === 'Not Started') return 'its NVLink fabric has not been set up: CUDA fails with error 802';
  return tell(
    state === 'Completed' && status !== undefined && status !== 'Success',
    `its NVLink fabric is set up with: ${status}`,
  );
}
