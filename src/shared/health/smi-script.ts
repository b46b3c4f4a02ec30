import { Raw, sh } from '../base/shell.ts';

/** What the XML lacks: MIG UUIDs, compute capabilities; and whether CUDA finds its device. */
const more = new Raw(`nvidia-smi -L
    nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader
    [ ! -e /dev/nvidiactl ] || [ -e /dev/nvidia-uvm ] || echo 'azp-fleet: no /dev/nvidia-uvm'`);

/**
 * The first look at GPUs, on the host and in the probe container; `askSmi` runs it. All GPUs in one document, as they
 * are. The listing's exit code is the script's. 14: all is there, but the InfoROM of a GPU is damaged.
 */
export const listingScript = sh`nvidia-smi -q -x
code=$?
case $code in
  0 | 14)
    ${more}
    ;;
esac
exit "$code"
`;

/**
 * The second one, where a dead GPU makes the whole listing fail, or names of processes make it ambiguous: a command for
 * each GPU by its PCI address. What processes may have written never leaves the script: nvidia-smi prints all of it
 * between the first <processes> and the last </processes> of a GPU, and where it was killed in between, there is no
 * telling which is the last. In a locale of bytes, in which no name stops the pattern.
 */
export function aloneScript(pci: readonly string[]): string {
  return sh`LC_ALL=C
export LC_ALL
for gpu in ${pci}; do
  said=$(nvidia-smi -q -x -i "$gpu" 2>&1)
  code=$?
  echo "azp-fleet: gpu $gpu exit $code"
  case $code in
    0 | 14) cut='s/<processes>.*<\/processes>//;s/<processes>.*//' ;;
    *) cut='s/<processes>.*//' ;;
  esac
  printf '%s\n' "$said" | sed -n "H;\${x;$cut;p;}"
done
echo 'azp-fleet: more'
${more}
`;
}
