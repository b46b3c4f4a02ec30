/**
 * Finds the report in what nvidia-smi printed. It writes the names of processes into its XML as they are, and processes
 * choose their names: what stands in their sections may look like any part of the report, or like a message.
 */

/** How much of what nvidia-smi printed there is. */
export interface Printed {
  readonly code: number;
  readonly output: string;
  /** Not all of it was kept. */
  readonly isCut?: boolean;
}

/** It came to its end, and its end was kept: only then is the last mark of a kind its own. 14: a damaged InfoROM. */
export function isWhole({ code, isCut = false }: Printed): boolean {
  return !isCut && (code === 0 || code === 14);
}

const begins = '<nvidia_smi_log>';
const ends = '</nvidia_smi_log>';

export type Listing =
  /** `document` without any section of processes. `gpus`: how many it must show; undefined: as many as it does. */
  | { readonly ok: true; readonly document: string; readonly gpus: number | undefined }
  /** Ambiguous: it cannot be told which parts the driver wrote. */
  | { readonly ok: false; readonly reason: string; readonly isAmbiguous: boolean };

/**
 * The one document in the output of `nvidia-smi -q -x`. How many GPUs there are stands before all processes. Where there
 * are as many sections of processes as GPUs, each began and ended once, no name holds such a mark, and the cuts are those
 * of nvidia-smi; a single section leaves no room for another. Pure, never throws.
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
    return ambiguous('the sections of processes are not one for each GPU');
  const document = whole.replaceAll(/<processes>[\s\S]*?<\/processes>/g, '');
  if (count(document, begins) !== 1 || count(document, ends) !== 1 || document.includes('<!'))
    return ambiguous('there is more than one report in it');
  return { ok: true, document, gpus: opened > 1 ? opened : undefined };
}

/** The document of a GPU that was asked for alone, its processes cut off already; undefined where there is none. */
export function documentIn(said: string): string | undefined {
  const from = said.indexOf(begins);
  const to = said.lastIndexOf(ends);
  return from === -1 || to < from ? undefined : said.slice(from, to + ends.length);
}

/**
 * Messages of nvidia-smi and whatever else was printed around the report: nothing between its begin and its end, nothing
 * behind one that was not printed to the end, and nothing of one whose begin is lost.
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
