/**
 * Finds the report in the output of nvidia-smi. nvidia-smi writes the names of processes unescaped into its XML, and
 * processes choose their names: a name may look like any part of the report, or like a message.
 */

/** Output of nvidia-smi, and whether it is complete. */
export interface Printed {
  readonly code: number;
  readonly output: string;
  /** Part of the output is missing. */
  readonly isCut?: boolean;
}

/** True when the output is complete: only then is the last tag of a kind nvidia-smi's own. 14: a damaged InfoROM. */
export function isWhole({ code, isCut = false }: Printed): boolean {
  return !isCut && (code === 0 || code === 14);
}

const begins = '<nvidia_smi_log>';
const ends = '</nvidia_smi_log>';

export type Listing =
  /** `document` has no process sections. `gpus`: how many it must list; undefined: any number. */
  | { readonly ok: true; readonly document: string; readonly gpus: number | undefined }
  /** Ambiguous: parts of the driver and names of processes cannot be distinguished. */
  | { readonly ok: false; readonly reason: string; readonly isAmbiguous: boolean };

/**
 * Returns the one document in the output of `nvidia-smi -q -x`. The number of GPUs comes before all processes. If there are
 * exactly as many process sections as GPUs, each opened and closed once, then no name contains such a tag, and every section is
 * nvidia-smi's own; the same holds for a single section. Pure, never throws.
 */
export function listingIn(printed: Printed): Listing {
  const { output } = printed;
  const from = output.indexOf(begins);
  if (from === -1) return unreadable('no XML in the output');
  const to = output.lastIndexOf(ends);
  if (to === -1 || !isWhole(printed)) return unreadable('the XML ends early');
  const whole = output.slice(from, to + ends.length);
  const opened = count(whole, '<processes>');
  const gpus = attachedGpus(whole);
  if (opened !== count(whole, '</processes>') || (opened > 1 && opened !== gpus))
    return ambiguous('it does not have one process section for each GPU');
  const document = whole.replaceAll(/<processes>[\s\S]*?<\/processes>/g, '');
  if (count(document, begins) !== 1 || count(document, ends) !== 1 || document.includes('<!'))
    return ambiguous('it contains more than one report');
  return { ok: true, document, gpus: opened > 1 ? opened : undefined };
}

/** Returns the document of a GPU that was queried separately, without its processes; undefined where there is none. */
export function documentIn(said: string): string | undefined {
  const from = said.indexOf(begins);
  const to = said.lastIndexOf(ends);
  return from === -1 || to < from ? undefined : said.slice(from, to + ends.length);
}

/**
 * Returns the output before and after the report: messages of nvidia-smi. Text after an incomplete report, and text before
 * one whose start is missing, is left out.
 */
export function aroundReport(printed: Printed): string {
  const { output } = printed;
  const from = output.indexOf(begins);
  const to = isWhole(printed) ? output.lastIndexOf(ends) : -1;
  const isBeheaded = from === -1 && /<\/?(?:process|nvidia_smi_log)/.test(output);
  const before = isBeheaded ? '' : output.slice(0, from === -1 ? undefined : from);
  return to === -1 || to < from ? before : `${before}\n${output.slice(to + ends.length)}`;
}

function attachedGpus(document: string): number | undefined {
  const [head = ''] = document.split('<processes>', 1);
  const said = /<attached_gpus>\s*(\d{1,4})\s*<\/attached_gpus>/.exec(head)?.[1];
  return said === undefined ? undefined : Number(said);
}

function count(text: string, mark: string): number {
  return text.split(mark).length - 1;
}

function unreadable(reason: string): Listing {
  return { ok: false, reason, isAmbiguous: false };
}

function ambiguous(reason: string): Listing {
  return { ok: false, reason, isAmbiguous: true };
}
