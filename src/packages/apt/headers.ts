/** Headers first: without those of the running kernel DKMS builds for another kernel, or not at all. */
export const kernelHeaders = `kernel=$(uname -r)
if [ ! -e "/lib/modules/$kernel/build" ]; then
  [ -n "$(offered "linux-headers-$kernel")" ] || fail "no package source offers the headers of the running kernel" \\
    "linux-headers-$kernel" 'only other versions, if any' \\
    'upgrade the kernel (apt-get install linux-image-generic on Ubuntu, linux-image-amd64 on Debian), reboot, run again'
  bring "linux-headers-$kernel"
fi
# A kernel may be built with another compiler than the system's first one: Ubuntu's HWE kernels are.
compiler=$(sed -n 's/.*(\\([^ ()]*-\\)\\{0,1\\}\\(gcc-[0-9][0-9]*\\) .*/\\2/p' /proc/version)
if [ -n "$compiler" ] && ! command -v "$compiler" >/dev/null && [ -n "$(offered "$compiler")" ]; then
  bring "$compiler"
fi`;
