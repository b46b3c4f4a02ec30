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
