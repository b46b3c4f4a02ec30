import { defined } from '../base/defined.ts';
import { gpuReport } from './gpu-report.ts';
import { addListing } from './listing.ts';
import type { GpuReport, SmiReport } from './report.ts';
import { aroundReport, listingIn, type Printed } from './smi-sections.ts';
import { text } from './values.ts';
import { parseXml, type XmlElement } from './xml.ts';

export type SmiResult =
  | { readonly ok: true; readonly report: SmiReport }
  /** Why the text is no report; what it means for the host is the checkup's business. */
  | { readonly ok: false; readonly reason: string; readonly isAmbiguous: boolean };

/**
 * Reads the output of `nvidia-smi -q -x`, schemas v10 to v13, with noise around it. A listing by `nvidia-smi -L` and
 * lines of `uuid, compute capability` may follow. `pci`: addresses of the GPUs that there are, empty: not known. A GPU
 * twice, or one that is not there, makes it ambiguous; `ignored` ones are left out of the report. Never throws.
 */
export function parseSmi(
  printed: Printed,
  pci: readonly string[],
  ignored: readonly string[] = [],
): SmiResult {
  const listing = listingIn(printed);
  if (!listing.ok) return listing;
  const parsed = parseXml(listing.document);
  if (!parsed.ok) return { ...parsed, isAmbiguous: false };
  const gpus = gpusIn(parsed.root);
  const doubt = doubtAbout(gpus, listing.gpus, pci.length === 0 ? [] : [...pci, ...ignored]);
  if (doubt !== undefined) return { ok: false, reason: doubt, isAmbiguous: true };
  const served = addListing(gpus, aroundReport(printed)).filter(({ busId }) => !ignored.includes(busId));
  return { ok: true, report: withVersions(parsed.root, served) };
}

/** The GPUs of a document, in its order. */
export function gpusIn(root: XmlElement): readonly GpuReport[] {
  return root.children.filter(({ name }) => name === 'gpu').map(gpuReport);
}

/** GPUs as a report, with the versions that a document of theirs names. */
export function withVersions(root: XmlElement | undefined, gpus: readonly GpuReport[]): SmiReport {
  const cudaVersion = versionIn(root, 'cuda_version', 'cuda_umd_version');
  return {
    driverVersion: versionIn(root, 'driver_version', 'kmd_version') ?? '',
    ...defined({ cudaVersion }),
    gpus,
  };
}

function doubtAbout(
  gpus: readonly GpuReport[],
  told: number | undefined,
  pci: readonly string[],
): string | undefined {
  if (told !== undefined && told !== gpus.length) return `it shows ${gpus.length} of ${told} GPUs`;
  const addresses = gpus.map(({ busId }) => busId);
  const twice = addresses.find((address, at) => addresses.indexOf(address) !== at);
  if (twice !== undefined) return `the GPU at ${twice} is in it twice`;
  const unknown = pci.length === 0 ? undefined : addresses.find((address) => !pci.includes(address));
  return unknown === undefined ? undefined : `there is no GPU at ${unknown}, which it shows`;
}

/** Since driver 610 remarks follow the number in other outputs; only the number counts. */
function versionIn(root: XmlElement | undefined, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const version = /^\d+(?:\.\d+)+/.exec((root && text(root, name)) ?? '')?.[0];
    if (version !== undefined) return version;
  }
  return undefined;
}
