import { defined } from '../../base/defined.ts';
import { flag } from '../values.ts';
import { faultLike, tell } from './judge.ts';
import { family } from './rule.ts';

/** How the driver gets on with it, and how it is set. */
export const driver = family({
  read: (gpu) => defined({ persistence: flag(gpu, 'persistence_mode') }),
  rules: [
    {
      code: 'gpu.value-error',
      severity: 'warn',
      when: 'a value reads `Unknown Error` or `ERR!`',
      seen: ({ faults }) => faultLike(faults, /^(?!.*(?:lost|requires reset))/i),
      next: 'see `nvidia-smi -q` and `journalctl -k | grep NVRM` on the host',
    },
    {
      code: 'gpu.persistence',
      severity: 'warn',
      when: 'persistence mode off',
      source: 'every container start initialises the GPU anew',
      seen: ({ persistence }) =>
        tell(persistence === false, 'persistence mode is off: each start initialises it anew'),
      next: 'enable it: `systemctl enable --now nvidia-persistenced`',
    },
  ],
});
