import { Raw, sh } from '../base/shell.ts';
import { aroundReport, isWhole, type Printed } from './smi-sections.ts';
import { parseSmi } from './smi-report.ts';

/** Values that the XML lacks: MIG UUIDs, compute capabilities; and whether CUDA finds its device. */
const more = new Raw(`nvidia-smi -L
    nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader
    [ ! -e /dev/nvidiactl ] || [ -e /dev/nvidia-uvm ] || echo 'azp-fleet: no /dev/nvidia-uvm'`);

/**
 * The first query, on the host and in the probe container: all GPUs in one document. The exit code of the listing is that
 * of the script. 14: the listing is complete, and the InfoROM of a GPU is damaged.
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
 * The second query, where a failed GPU makes the whole listing fail, or names of processes make it ambiguous: a command for
 * each GPU by its PCI address. Text that processes choose never leaves the script: nvidia-smi prints it between the first
 * <processes> and the last </processes> of a GPU; if it was killed in between, everything after the first is cut. The
 * locale is one of bytes, in which no name stops the pattern.
 */
export function aloneScript(pci: readonly string[]): string {
  return sh`LC_ALL=C
export LC_ALL
# A host may have one GPU.
# shellcheck disable=SC2043
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
  /** It did not answer in time: a failed GPU leaves it in an uninterruptible sleep. */
  readonly timedOut: boolean;
  /** The program that does not answer, if it is not nvidia-smi. */
  readonly program?: string;
}

/** The answer of nvidia-smi about all GPUs. */
export interface SmiAnswer extends SmiRun {
  /** Its answers about each GPU, where the first answer is not enough. */
  readonly alone?: SmiRun;
}

/** Exit codes that are not about one GPU: no driver, no library, another version; not executable, missing. */
const codesOfTheHost = new Set([9, 12, 13, 18, 126, 127]);

/**
 * Queries nvidia-smi about these GPUs (PCI addresses). One failed GPU, or the name of a process, can make the whole listing
 * fail: each GPU is then queried separately, so that the others are judged by their own answers. It may also list GPUs in `ignored`.
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
