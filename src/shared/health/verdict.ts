import type { Code } from '../base/codes/code.ts';

/** The judgement on one host, with its cause and the next action. */
export interface Verdict {
  /** `off`: it cannot be reached, and its agents say in the pool that nobody used it. */
  readonly state: 'healthy' | 'degraded' | 'failed' | 'hung' | 'unreachable' | 'off' | 'unknown';
  /** One line; empty when healthy. */
  readonly cause: string;
  readonly next: string;
  /** Of a host that cannot be read: the code of the problem. */
  readonly code?: Code;
  /** One line that is told though nothing is wrong. */
  readonly note?: string;
  /** The pools were not looked at: whether Azure DevOps shows the agents online is not known. */
  readonly azureAsked?: false;
  /** Of a degraded host: all that is wrong with it, told apart by what does not change from one look to the next. */
  readonly troubles?: readonly Trouble[];
}

export interface Trouble {
  readonly code: Code;
  /** An agent's name, or a GPU as in `Finding`. Absent: the whole host. */
  readonly on?: string;
}

/** One thing that a rule found. `warn` degrades a host, `fail` fails it; `info` is only told. */
export interface Finding {
  /** Stable: `gpu.ecc-uncorrected`, `gpu.missing`, `driver.mismatch`, … docs/health.md tells those about GPUs. */
  readonly code: Code;
  /** The GPU's UUID, or its PCI address (`0000:83:00.0`) when no UUID can be read. Absent: the whole host. */
  readonly gpu?: string;
  /** Names of the agents that it is about. */
  readonly agents?: readonly string[];
  readonly severity: 'info' | 'warn' | 'fail';
  /** One line: what is wrong. */
  readonly what: string;
  /** One line: what to do. */
  readonly next: string;
}
