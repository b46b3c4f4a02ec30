/** The declaration of a finding, for all that show or weigh it: status, webhook, exit codes, docs, `explain`. */
export interface FindingEntry {
  /** What is wrong, in a few words. */
  readonly title: string;
  /** `info` is only shown; `warn` degrades the host; `fail` (absent) fails it. A finding may state another one. */
  readonly severity?: 'info' | 'warn';
  /** How it is recognized, for docs/findings.md; absent: the cause says that. */
  readonly when?: string;
  /** Findings that cause this one: while one of them is shown, it is not. A test finds codes that do not exist, and circles. */
  readonly dependsOn?: readonly string[];
  /** Seconds that it lasts before `status` and the webhook show it: it often ends by itself. The health gate does not wait. */
  readonly lastsForS?: number;
}

/** How a cause that a manager reports ends. Absent: by itself, or by a fix. */
interface CauseEntry {
  /**
   * `permanent`: only by a person's fix, so waiting does not help. `conflict`: when the server ends a session that no agent polls.
   * `startup`: every start passes through it within seconds.
   */
  readonly kind?: 'permanent' | 'conflict' | 'startup';
}

/** The general cause of a code and its fix; each problem has more exact ones. With a title it is a finding. */
export type Entry = readonly [
  cause: string,
  fix: string,
  traits?: (FindingEntry | { readonly title?: never }) & CauseEntry,
];

/** Without a working driver, nothing that uses GPUs works. */
export const driverFaults = [
  'driver.not-loaded',
  'driver.mismatch',
  'driver.no-library',
  'smi.hung',
] as const;

/** Without Docker, no container and no image works. */
export const dockerFaults = ['docker.down', 'engine.unreachable'] as const;

/** Without a manager, nothing on the host reports or starts agents. */
export const managerFaults = ['host.not-provisioned', 'manager.down'] as const;
