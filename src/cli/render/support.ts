import { supportWarning } from '../../fleet/status/support.ts';
import type { Support } from '../../shared/base/support-dates.ts';
import { merged, type Trouble } from './trouble.ts';

/** Returns what the vendors no longer support, or soon will not, equal problems of several hosts once. */
export function supportTroubles(
  hosts: readonly { readonly host: string; readonly support?: readonly Support[] }[],
): readonly Trouble[] {
  return merged(
    hosts.flatMap(({ host, support = [] }) =>
      support.flatMap((each) => {
        const warning = supportWarning(each);
        return warning === undefined ? [] : [{ places: [host], severity: 'warn' as const, ...warning }];
      }),
    ),
  );
}
