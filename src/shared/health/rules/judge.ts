/** What is said where it holds; a condition that is not known does not. */
export function tell(condition: boolean | undefined, what: string | undefined): string | undefined {
  return condition === true ? what : undefined;
}

/** `3 bad rows` where the value is known and not below the threshold. */
export function atLeast(value: number | undefined, threshold: number, what: string): string | undefined {
  return tell(value !== undefined && value >= threshold, `${value} ${what}`);
}

/** `PCIe lanes: 8 of 16` where both are known and the value is below. */
export function below(value: number | undefined, max: number | undefined, what: string): string | undefined {
  return tell(value !== undefined && max !== undefined && value < max, `${what}: ${value} of ${max}`);
}

/** The first value that stands where the driver got an error from the GPU and reads like this: `uuid: [GPU is lost]`. */
export function faultLike(faults: Readonly<Record<string, string>>, pattern: RegExp): string | undefined {
  const [field, value] = Object.entries(faults).find(([, token]) => pattern.test(token)) ?? [];
  return tell(field !== undefined, `${field}: ${value}`);
}

/** For `next`. */
export const resetGpu =
  'reset it when its job has ended: `nvidia-smi --gpu-reset -i {bus}`, or reboot the host';
