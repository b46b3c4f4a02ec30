import type { Finding } from '../verdict.ts';

/** What a number of cuInit means: CUDA Driver API, `CUresult`. */
const meanings: Readonly<Record<string, Pick<Finding, 'code' | 'what' | 'next'>>> = {
  802: {
    code: 'cuda.not-ready',
    what: 'CUDA is not ready (error 802): the fabric manager has not joined the GPUs',
    next: 'wait a minute; then see `systemctl status nvidia-fabricmanager` on the host: its version must equal the driver’s',
  },
  803: {
    code: 'driver.mismatch',
    what: 'the loaded kernel module and libcuda have different versions (CUDA error 803)',
    next: 'reboot the host, or drain it and reload the nvidia modules (`azp-fleet provision` does it)',
  },
  804: {
    code: 'cuda.failed',
    what: 'the image brings a libcuda of its own that this driver or GPU does not take (CUDA error 804)',
    next: 'take an image for a CUDA that the driver has itself (`nvidia-smi` tells it), or a newer driver branch',
  },
};

/**
 * What CUDA said in a container, in what `withCuda` has printed. Undefined: it begins, or it was not asked. Pure.
 */
export function explainCuda(output: string): Finding | undefined {
  const [, code, said = ''] = /^azp-fleet: cuInit exit (\d{1,3}) ?(.*)$/m.exec(output) ?? [];
  if (code === undefined || (code === '0' && said === '0')) return undefined;
  return { severity: 'fail', ...told(code, said) };
}

function told(code: string, said: string): Omit<Finding, 'severity'> & Partial<Pick<Finding, 'severity'>> {
  const next = 'see `journalctl -k | grep NVRM` on the host';
  if (code === '0' && /^\d{1,10}$/.test(said))
    return (
      meanings[said] ?? {
        code: 'cuda.failed',
        what: `CUDA does not begin in a container: cuInit ends with error ${said}`,
        next,
      }
    );
  // Cold GPUs take long, and those that hang in the kernel are found by the container's own end.
  if (code === '124' || code === '137')
    return {
      code: 'cuda.failed',
      severity: 'warn',
      what: 'CUDA does not begin in a container within 20 s',
      next,
    };
  return {
    code: 'container.no-libcuda',
    what: 'containers get no libcuda.so.1 that could be used: CUDA programs do not start',
    next: 'look for libcuda.so.1 on the host (`ldconfig -p`), then `systemctl restart nvidia-cdi-refresh.service`',
  };
}
