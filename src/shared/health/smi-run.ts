import { Raw, sh } from '../base/shell.ts';
import { aroundReport, isWhole, type Printed } from './smi-sections.ts';
import { parseSmi } from './smi-report.ts';

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

/** One run of nvidia-smi: both streams together, since it prints several of its errors on stdout. */
export interface SmiRun extends Printed {
  /** It did not answer in time. A GPU in trouble leaves it in an uninterruptible sleep. */
  readonly timedOut: boolean;
  /** The program that does not answer, where that is another one of NVIDIA's. */
  readonly program?: string;
}

/** What nvidia-smi answered when asked for all GPUs. */
export interface SmiAnswer extends SmiRun {
  /** What it answered about each alone, where the first answer does not do. */
  readonly alone?: SmiRun;
}

/** Exit codes that are not about one GPU: no driver, no library, another version; not executable, not there. */
const codesOfTheHost = new Set([9, 12, 13, 18, 126, 127]);

/**
 * Asks nvidia-smi about these GPUs (PCI addresses). One dead GPU can make the whole listing fail, and so can a process
 * by its name: each GPU is then asked for alone, so that the others are not judged by it. `ignored` ones may be shown, too.
 */
export async function askSmi(
  pci: readonly string[],
  run: (script: string) => Promise<SmiRun>,
  ignored: readonly string[] = [],
): Promise<SmiAnswer> {
  const all = await run(listingScript);
  const isEnough = isWhole(all) ? parseSmi(all, pci, ignored).ok : isOfTheHost(all);
  if (all.timedOut || isEnough || pci.length === 0) return all;
  return { ...all, alone: await run(aloneScript(pci)) };
}

function isOfTheHost(run: SmiRun): boolean {
  return codesOfTheHost.has(run.code) || aroundReport(run).includes('Failed to initialize NVML');
}
