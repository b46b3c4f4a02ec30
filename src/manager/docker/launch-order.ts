import type { EngineWays } from './engine-start.ts';
import type { LeftSession, NextKey, Slot } from '../model.ts';
import { randomBytes } from 'node:crypto';

/** Everything that one start of a slot is made from. */
export interface LaunchOrder extends EngineWays {
  readonly slot: Slot;
  readonly run: string;
  readonly image: string;
  readonly settings: string;
  readonly pool: { readonly id: number; readonly name: string };
  readonly capabilities: Readonly<Record<string, string>>;
  /** That it is registered with; `known`: what the server has for it. */
  agentVersion(known: string | undefined): string;
  /** Rejects with `NotYet` while a job would not be alone on the slot's GPUs. */
  requireClean(): Promise<void>;
  /** What the server has for the agent already; `given` is called when a container is about to know the agent's key. */
  readonly key: { readonly next: NextKey | undefined; given(): void };
  /** What an earlier agent of the slot left with the server; `renewed` is called when its entry is made anew for it. */
  readonly connection: { readonly left: LeftSession | undefined; renewed(): void };
}

/** What the job's container needs to be this agent. */
export interface Registration {
  readonly agentId: number;
  readonly files: readonly { readonly name: string; readonly content: string }[];
}

/** Sorts by wall time, over restarts, too: 9 digits of base-36 milliseconds, then chance. */
export function runId(now: number): string {
  return `${now.toString(36).padStart(9, '0')}-${randomBytes(3).toString('hex')}`;
}
