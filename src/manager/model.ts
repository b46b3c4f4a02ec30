import type { AzureAgent } from '../shared/azure/client.ts';
import type { AgentKey } from '../shared/azure/keys.ts';
import type { Code } from '../shared/base/codes/code.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import type { ImageConfig } from '../shared/contract/config.ts';
import type { SlotSpec } from '../shared/contract/slots.ts';

/** What a reader is told when something does not work: a stable name, plain words, and what to do. */
export interface Cause {
  readonly code: Code;
  readonly what: string;
  readonly next: string;
}

/** One agent name on this host with what it may use. */
export interface Slot {
  readonly name: string;
  /** Name of the agent in the pool and of its container. */
  readonly agent: string;
  /** UUIDs, resolved on this host. */
  readonly gpus: readonly string[];
  /** GPUs that the slot should have and that the driver does not show. */
  readonly missing: readonly string[];
  readonly limits: SlotSpec['limits'];
  /** Docker's; absent: an equal part. */
  readonly cpuShares?: number;
  /** Whom its containers' processes belong to; straight on the host it has a user of its own. */
  readonly uid: number;
  readonly capabilities: SlotSpec['capabilities'];
  readonly mode: SlotSpec['mode'];
  /** Name of the agent's pool. */
  readonly pool: string;
  /** Where the image of its containers comes from. */
  readonly image: ImageConfig;
}

/** Why a slot takes no jobs. */
export interface Hold {
  /**
   * `close`: the agent is disabled in the pool with the reason, an idle container is stopped, a busy one ends its job.
   * `pause`: only nothing new is started.
   */
  readonly kind: 'close' | 'pause';
  readonly state: 'drained' | 'quarantined' | 'waiting';
  readonly cause: Cause;
}

/** A container of a slot, with what its output has told so far. */
export interface SeenContainer {
  readonly id: string;
  readonly state: OwnContainer['state'];
  readonly image: string;
  readonly settings: string;
  /** `unknown` until its output has been read, `connecting` until the agent listens for jobs. */
  readonly phase: 'unknown' | 'connecting' | 'listening' | 'running' | 'done';
  /** It will not come to listen, or not in time: it is to be given up for a new one. */
  readonly stuck: Cause | undefined;
}

/** A session that an agent of the slot left behind when it ended: nobody polls it, and the server keeps it for a while. */
export interface LeftSession {
  /** When it ends at the latest; ISO 8601, by this host's clock. */
  readonly until: string;
  /** Seconds until then. */
  readonly leftS: number;
  /** The entry has not just been made anew for the same reason: then it did not help. */
  readonly mayRenew: boolean;
}

/** A key that the server has for an agent and that no container has been given yet: the next run's own. */
export interface NextKey {
  readonly poolId: number;
  /** As the server answered when it took the key. */
  readonly agent: AzureAgent;
  readonly key: AgentKey;
}

/** What is known of a slot at one moment. */
export interface SeenSlot {
  readonly containers: readonly SeenContainer[];
  /** An operation on this slot is under way; nothing else is started for it. */
  readonly busyWith: string | undefined;
  /** Before this nothing is tried: an operation has just failed. Monotonic. */
  readonly retryAt: number;
  /** Before this nothing is launched. Monotonic. */
  readonly notBefore: number;
  readonly hold: Hold | undefined;
  /** The reason with which this manager has disabled the agent in the pool, as far as is known. */
  readonly disabledFor: string | undefined;
  /** The pool shows other capabilities than the agent is to have. */
  readonly unpublished: boolean;
  /** The pool has an agent of ours whose key an ended run knows, as far as is known. */
  readonly keySpent: boolean;
}

/** An image that came from a registry because this manager asked for it. */
export interface PulledImage {
  readonly id: string;
  /** Seconds since the epoch, as Docker dates images. */
  readonly at: number;
}

/** Where it is remembered. */
export interface PulledImages {
  readonly value: { readonly pulled: readonly PulledImage[] };
  note(
    change: (state: { readonly pulled: readonly PulledImage[] }) => {
      readonly pulled: readonly PulledImage[];
    },
  ): Promise<void>;
}

/** What a slot's new containers run. */
export interface WantedImage {
  /** Image id; undefined: none is ready. */
  readonly id: string | undefined;
  /** Slots of one source share their image. */
  readonly source: string;
  /** No container has yet come to listen on this image: try it on one slot of its source first. */
  readonly unproven: boolean;
}

export interface Wanted {
  readonly slots: readonly Slot[];
  /** By slot; those straight on the host have none. */
  readonly images: ReadonlyMap<string, WantedImage>;
  /** What slots straight on the host run in place of an image. */
  readonly hostProgram: string;
  /** Fingerprint per slot of what a container is created with; a container with another one is outdated. */
  readonly settings: ReadonlyMap<string, string>;
}

export interface Stray extends SeenContainer {
  readonly slot: string;
  readonly busyWith: string | undefined;
  readonly retryAt: number;
}

export interface Seen {
  /** Monotonic. */
  readonly now: number;
  readonly slots: ReadonlyMap<string, SeenSlot>;
  /** Ours by label, of slots that are no longer wanted. */
  readonly strays: readonly Stray[];
}

export type Action =
  | { readonly kind: 'launch'; readonly slot: string }
  /** Ended: keep the runStore, remove it. */
  | { readonly kind: 'collect'; readonly slot: string; readonly container: string }
  /** Created and never started: no job can have run in it. */
  | { readonly kind: 'discard'; readonly slot: string; readonly container: string }
  /** Idle: disable the agent, look again, stop it. */
  | {
      readonly kind: 'retire';
      readonly slot: string;
      readonly container: string;
      readonly reason: string;
      /** What is wrong with it, where that is why. */
      readonly cause?: Cause;
    }
  | { readonly kind: 'disable'; readonly slot: string; readonly reason: string }
  | { readonly kind: 'enable'; readonly slot: string }
  /** No container is there, and none is launched for now: the key of the last run is to open no session meanwhile. */
  | { readonly kind: 'end-key'; readonly slot: string }
  /** Write the agent's capabilities anew; what it does is not disturbed. */
  | { readonly kind: 'publish'; readonly slot: string };
