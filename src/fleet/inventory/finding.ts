import type { Code } from '../../shared/base/codes/code.ts';
import type { Path } from './document/document.ts';

/** A mistake that only shows when several keys are compared. */
export interface Finding {
  readonly code: Code;
  readonly path: Path;
  /** `{host}` in it is replaced by `host`: a mistake of one line that affects many hosts is reported once. */
  readonly what: string;
  readonly host?: string;
  readonly expected?: string;
  readonly seen?: string;
  readonly next?: string;
}
