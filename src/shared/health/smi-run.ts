import { aloneScript, listingScript } from './smi-script.ts';
import { aroundReport, isWhole, type Printed } from './smi-sections.ts';
import { parseSmi } from './smi-xml.ts';

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
