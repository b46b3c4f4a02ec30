import { conclude, examine, type Checkup } from './checkup.ts';
import { explainSmiFailure } from './smi-failure.ts';
import { checkXids } from './xid/xid-rules.ts';
import { readXids } from './xid/xid.ts';

export type Diagnosis =
  | { readonly kind: 'nvidia-smi' | 'kernel-log'; readonly checkup: Checkup }
  /** Nothing in it that this program knows how to read. */
  | { readonly kind: 'unknown' };

/** What a saved output says: of `nvidia-smi -q -x`, of a failed nvidia-smi, or a kernel log. Pure. */
export function diagnose(text: string): Diagnosis {
  const run = { code: 0, output: text, timedOut: false };
  if (text.includes('<nvidia_smi_log>'))
    return { kind: 'nvidia-smi', checkup: examine(run, 'host', { pci: [] }) };
  const failure = explainSmiFailure(run, 'host');
  const xids = readXids(text);
  if (xids.length > 0 || /\bNVRM:|\bkernel:|Linux version/.test(text)) {
    return {
      kind: 'kernel-log',
      checkup: conclude(
        checkXids(xids, (busId) => busId),
        undefined,
      ),
    };
  }
  return failure === undefined
    ? { kind: 'unknown' }
    : { kind: 'nvidia-smi', checkup: conclude([failure], undefined) };
}
