import type { Code } from '../base/codes/code.ts';

/** The state of one host, with its cause and the next action. */
export interface Verdict {
  /** `off`: it is unreachable, and its agents are disabled in the pool with the reason that it was idle. */
  readonly state: 'healthy' | 'degraded' | 'failed' | 'hung' | 'unreachable' | 'off' | 'unknown';
  /** One line; empty when healthy. */
  readonly cause: string;
  readonly next: string;
  /** Of a host that cannot be read: the code of the problem. */
  readonly code?: Code;
  /** One line of information about a host without a problem. */
  readonly note?: string;
  /** The pools were not read: whether Azure DevOps shows the agents online is not known. */
  readonly azureAsked?: false;
  /** Of a degraded host: all its problems, by keys that do not change from one check to the next. */
  readonly troubles?: readonly Trouble[];
}

export interface Trouble {
  readonly code: Code;
  /** An agent's name, or a GPU as in `Finding`. Absent: the whole host. */
  readonly on?: string;
}

/** One finding of a rule. `warn` degrades a host, `fail` fails it; `info` is only shown. */
export interface Finding {
  /** Stable: `gpu.ecc-uncorrected`, `gpu.missing`, `driver.mismatch`, … docs/findings.md lists all. */
  readonly code: Code;
  /** The GPU's UUID, or its PCI address (`0000:83:00.0`) when no UUID can be read. Absent: the whole host. */
  readonly gpu?: string;
  /** Names of the affected agents. */
  readonly agents?: readonly string[];
  readonly severity: 'info' | 'warn' | 'fail';
  /** One line: what is wrong. */
  readonly what: string;
  /** One line: what to do. */
  readonly next: string;
  /** ISO 8601, by the host's clock: since when its manager has found it without a break. Absent: found just now, or unknown. */
  readonly since?: string;
}
