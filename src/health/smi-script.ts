import { sh } from '../base/shell.ts';

/**
 * What is run to look at GPUs, on the host and in the probe container; `parseSmi` reads its output.
 * One dead GPU can make the whole listing fail: each is then asked for by its PCI address, so that the others are not
 * judged by it. The other commands add what the XML lacks (MIG UUIDs, compute capabilities); the listing's exit code
 * is the script's.
 */
export function smiScript(pci: readonly string[]): string {
  return sh`nvidia-smi -q -x
code=$?
case $code in
  0)
    nvidia-smi -L
    nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader
    [ ! -e /dev/nvidiactl ] || [ -e /dev/nvidia-uvm ] || echo 'azp-fleet: no /dev/nvidia-uvm'
    ;;
  9 | 12 | 13 | 18 | 126 | 127) ;;
  *)
    for gpu in ${pci}; do
      nvidia-smi -q -x -i "$gpu"
    done
    ;;
esac
exit "$code"
`;
}
