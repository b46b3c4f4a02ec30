import type { Problem } from '../../shared/base/errors.ts';
import type { Verdict } from '../../shared/health/verdict.ts';

/** An event of planning or applying. Renderers (listr2, lines, JSON) draw it; nothing else prints. */
export type FleetEvent =
  | { readonly kind: 'phase'; readonly phase: 'facts' | 'plan' | 'apply' | 'done' }
  | {
      readonly kind: 'host-state';
      readonly host: string;
      readonly state: HostState;
      readonly text?: string;
      /** Start, on the monotonic clock of this process, and limit of a long wait. */
      readonly wait?: { readonly since: number; readonly limitMs: number };
    }
  | { readonly kind: 'note'; readonly host?: string; readonly text: string }
  | {
      readonly kind: 'change-start';
      readonly host: string;
      readonly id: string;
      readonly title: string;
      /** On the monotonic clock of this process. */
      readonly since: number;
      /** Milliseconds after which the change is stopped. */
      readonly limitMs?: number;
    }
  /** Start and limit of the change's current action, if known. */
  | {
      readonly kind: 'change-limit';
      readonly host: string;
      readonly id: string;
      readonly since: number;
      readonly limitMs?: number;
    }
  /** The last line of live output of a running change. */
  | { readonly kind: 'change-output'; readonly host: string; readonly id: string; readonly line: string }
  | {
      readonly kind: 'change-end';
      readonly host: string;
      readonly id: string;
      readonly title: string;
      readonly ok: boolean;
      readonly durationMs: number;
      readonly resumed: boolean;
    }
  | { readonly kind: 'problem'; readonly problem: Problem }
  | { readonly kind: 'verdict'; readonly host: string; readonly verdict: Verdict };

export type HostState =
  | 'waiting'
  | 'connecting'
  | 'reading'
  | 'planned'
  | 'asking'
  | 'applying'
  | 'draining'
  | 'running'
  | 'rebooting'
  | 'proving'
  | 'ok'
  | 'changed'
  | 'failed'
  | 'unreachable'
  | 'skipped';

export type EventSink = (event: FleetEvent) => void;
