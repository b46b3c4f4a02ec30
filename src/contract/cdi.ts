/**
 * The line of a CDI specification, YAML or JSON, that makes it one of the GPUs themselves: the kinds of others only end
 * alike (`management.nvidia.com/gpu` of the GPU operator). Read alike by `grep -E` and by JavaScript, line by line.
 */
export const describesGpus = `kind["']? *: *["']?nvidia[.]com/gpu["']? *([,}]|$)`;
