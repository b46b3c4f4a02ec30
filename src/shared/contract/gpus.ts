/** A GPU as PCI shows it. */
interface PciDevice {
  /** `0000:83:00.0` */
  readonly address: string;
  /** Hex without prefix, in lower case: `2335`. */
  readonly deviceId: string;
}

/**
 * Whether an inventory's `gpus: { ignore: … }` names this GPU: by its PCI address (`0000:03:00.0`, or `03:00.0` in the first
 * domain) or by its kind (`10de:128b`). Such a one is there for a screen: no job gets it, and nothing is judged by it.
 */
export function isIgnored({ address, deviceId }: PciDevice, ignore: readonly string[] = []): boolean {
  return ignore
    .map((each) => each.toLowerCase())
    .some((each) =>
      [address, `10de:${deviceId}`].includes(/^[\da-f]{2}:/.test(each) ? `0000:${each}` : each),
    );
}

/**
 * The line of a CDI specification, YAML or JSON, that makes it one of the GPUs themselves: the kinds of others only end
 * alike (`management.nvidia.com/gpu` of the GPU operator). Read alike by `grep -E` and by JavaScript, line by line.
 */
export const describesGpus = `kind["']? *: *["']?nvidia[.]com/gpu["']? *([,}]|$)`;

/** What a specification has that gives containers more than computing, as grep has it. */
export const cdiLibraries = {
  graphics: String.raw`libEGL_nvidia\.so`,
  video: String.raw`libnvidia-encode\.so`,
} as const;
