import { defined } from '../base/defined.ts';
import { gpuReport } from './gpu-report.ts';
import { addListing } from './listing.ts';
import { text } from './values.ts';
import type { SmiReport } from './report.ts';
import { parseXml, type XmlElement } from './xml.ts';

export type SmiResult =
  | { readonly ok: true; readonly report: SmiReport }
  /** Why the text is no report, for the debug log; what it means for the host is `explainSmiFailure`'s business. */
  | { readonly ok: false; readonly reason: string };

const document = /<nvidia_smi_log>[\s\S]*?<\/nvidia_smi_log>/g;

/**
 * Reads the output of `nvidia-smi -q -x`, schemas v10 to v13, with noise around it. Several documents are taken
 * together: the script asks GPU by GPU where the whole listing fails. A listing by `nvidia-smi -L` and lines of
 * `uuid, compute capability` may follow. Never throws.
 */
export function parseSmi(output: string): SmiResult {
  const documents = output.match(document);
  if (documents === null) {
    return {
      ok: false,
      reason: output.includes('<nvidia_smi_log>') ? 'the XML ends early' : 'no XML in the output',
    };
  }
  const roots: XmlElement[] = [];
  for (const xml of documents) {
    const parsed = parseXml(escapeProcessNames(xml));
    if (!parsed.ok) return parsed;
    roots.push(parsed.root);
  }
  const gpus = roots.flatMap(({ children }) => children.filter(({ name }) => name === 'gpu')).map(gpuReport);
  const cudaVersion = versionIn(roots, 'cuda_version', 'cuda_umd_version');
  return {
    ok: true,
    report: {
      driverVersion: versionIn(roots, 'driver_version', 'kmd_version') ?? '',
      ...defined({ cudaVersion }),
      gpus: addListing(gpus, output.replaceAll(document, '')),
    },
  };
}

/** Since driver 610 remarks follow the number in other outputs; only the number counts. */
function versionIn(roots: readonly XmlElement[], ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const version = /^\d+(?:\.\d+)+/.exec(text(roots[0] ?? empty, name) ?? '')?.[0];
    if (version !== undefined) return version;
  }
  return undefined;
}

const empty: XmlElement = { name: '', attributes: {}, children: [], text: '' };

/** Processes choose their names: markup in one must not change what the rest of the report says. */
function escapeProcessNames(xml: string): string {
  return xml.replaceAll(
    /<process_name>([\s\S]*?)<\/process_name>(?=\s*<used_memory>)/g,
    (_, name: string) =>
      `<process_name>${name.replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</process_name>`,
  );
}
