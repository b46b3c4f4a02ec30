/** The declaration of a finding, for all that show or weigh it: status, webhook, exit codes, docs, `explain`. */
interface FindingEntry {
  /** What is wrong, in a few words. */
  readonly title: string;
  /** `info` is only shown; `warn` degrades the host; `fail` (absent) fails it. A finding may state another one. */
  readonly severity?: 'info' | 'warn';
  /** How it is recognized, for docs/findings.md; absent: the cause says that. */
  readonly when?: string;
}

/** The general cause of a code and its fix; each problem has more exact ones. With a third member it is a finding. */
export type Entry = readonly [cause: string, fix: string, finding?: FindingEntry];
