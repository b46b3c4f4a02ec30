/** A GPU on the PCI bus. */
interface PciDevice {
  /** `0000:83:00.0` */
  readonly address: string;
  /** Hex without prefix, in lower case: `2335`. */
  readonly deviceId: string;
}

/**
 * Returns whether `gpus: { ignore: … }` of an inventory names this GPU: by its PCI address (`0000:03:00.0`, or `03:00.0` in
 * the first domain) or by its kind (`10de:128b`). An ignored GPU is for a screen: no job gets it, and no rule applies to it.
 */
export function isIgnored({ address, deviceId }: PciDevice, ignore: readonly string[] = []): boolean {
  return ignore
    .map((each) => each.toLowerCase())
    .some((each) =>
      [address, `10de:${deviceId}`].includes(/^[\da-f]{2}:/.test(each) ? `0000:${each}` : each),
    );
}

/**
 * Matches the line of a CDI specification, YAML or JSON, that declares GPUs. Kinds of others only end the same
 * (`management.nvidia.com/gpu` of the GPU operator). Works in `grep -E` and in JavaScript, line by line.
 */
export const describesGpus = `kind["']? *: *["']?nvidia[.]com/gpu["']? *([,}]|$)`;

/** grep patterns of the libraries in a specification that give containers more than computing. */
export const cdiLibraries = {
  graphics: String.raw`libEGL_nvidia\.so`,
  video: String.raw`libnvidia-encode\.so`,
} as const;
