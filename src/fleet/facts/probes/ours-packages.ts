import { sh } from '../../../shared/base/shell.ts';
import { longestRecord, readRecord, recordFile, type PackageRecord } from '../../packages/package-record.ts';
import type { FactProbe } from '../probe.ts';

/** What we have noted of the packages that we found, brought and held. */
export const oursPackagesProbe: FactProbe<PackageRecord | undefined> = {
  name: 'ours-packages',
  script: () => sh`head -c ${longestRecord} ${recordFile} 2>/dev/null || :`,
  parse: ({ stdout }) => readRecord(stdout),
};
