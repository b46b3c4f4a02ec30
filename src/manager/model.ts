import type { AzureAgent } from '../shared/azure/client.ts';
import type { AgentKey } from '../shared/azure/keys.ts';
import type { Code } from '../shared/base/codes/code.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import type { ImageConfig } from '../shared/contract/config.ts';
import type { SlotSpec } from '../shared/contract/slots.ts';

/** Describes what does not work: a stable code, plain words, and the next action. */
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
  /** Configured GPUs that the driver does not show. */
  readonly missing: readonly string[];
  readonly limits: SlotSpec['limits'];
  /** Docker's CPU shares; absent: an equal part. */
  readonly cpuShares?: number;
  /** The user of its containers' processes; a slot with `mode: host` has an own user. */
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
   * `close`: the agent is disabled in the pool with the reason, an idle container is stopped, a busy one finishes its job.
   * `pause`: nothing new is started, and nothing else changes.
   */
  readonly kind: 'close' | 'pause';
  readonly state: 'drained' | 'quarantined' | 'waiting';
  readonly cause: Cause;
}

/** A container of a slot, with the state in its output. */
export interface ObservedContainer {
  readonly id: string;
  readonly state: OwnContainer['state'];
  readonly image: string;
  readonly settings: string;
  /** Its run is recorded and its key replaced: only its removal is left. */
  readonly isRecorded: boolean;
  /** `unknown` until its output has been read, `connecting` until the agent listens for jobs. */
  readonly phase: 'unknown' | 'connecting' | 'listening' | 'running' | 'done';
  /**
   * Why the container must be replaced: its agent does not listen or does not exit after its job, it is paused, or its
   * removal hangs.
   */
  readonly stuck: Cause | undefined;
}

/** A session that an agent of the slot left open at its exit. The server keeps it for a while. */
export interface LeftSession {
  /** When it ends at the latest; ISO 8601, by this host's clock. */
  readonly until: string;
  /** Seconds until then. */
  readonly leftS: number;
  /** False shortly after the entry was created again for the same reason, without success. */
  readonly mayRenew: boolean;
}

/** A key that the server has for an agent and no container has yet: the next run uses it. */
export interface NextKey {
  readonly poolId: number;
  /** The server's response to the new key. */
  readonly agent: AzureAgent;
  readonly key: AgentKey;
  /** The entry as it was written, and when (monotonic), if it was offline and had no job just before. */
  readonly idle?: { readonly entry: AzureAgent; readonly at: number };
}

/** The observed state of a slot. */
export interface ObservedSlot {
  readonly containers: readonly ObservedContainer[];
  /** The running action of this slot; no other is started until it ends. */
  readonly busyWith: string | undefined;
  /** No action is started before, after a failed one. Monotonic. */
  readonly retryAt: number;
  /** Nothing is launched before. Monotonic. */
  readonly notBefore: number;
  readonly hold: Hold | undefined;
  /** The reason with which this manager has disabled the agent in the pool, as far as is known. */
  readonly disabledFor: string | undefined;
  /** The pool shows other capabilities than configured. */
  readonly unpublished: boolean;
  /** The pool has an agent of this manager whose key an ended run knows, as far as is known. */
  readonly keySpent: boolean;
  /** The latest start failed, or waits, for a reason that is not its image's fault. */
  readonly waitsElsewhere: boolean;
}

/** An image that this manager has pulled. */
export interface PulledImage {
  readonly id: string;
  /** Seconds since the epoch, as Docker dates images. */
  readonly at: number;
}

/** The state that lists pulled images. */
export interface PulledImages {
  readonly value: { readonly pulled: readonly PulledImage[] };
  note(
    change: (state: { readonly pulled: readonly PulledImage[] }) => {
      readonly pulled: readonly PulledImage[];
    },
  ): Promise<void>;
}

/** The image of a slot's new containers. */
export interface DesiredImage {
  /** Image id; undefined: none is ready. */
  readonly id: string | undefined;
  /** Slots of one source share their image. */
  readonly source: string;
  /** No agent has listened on this image yet: one slot of its source tries it first. */
  readonly unproven: boolean;
}

/** The desired state: what the configuration asks for. */
export interface Desired {
  readonly slots: readonly Slot[];
  /** By slot; slots with `mode: host` have none. */
  readonly images: ReadonlyMap<string, DesiredImage>;
  /** The program of slots with `mode: host`, instead of an image. */
  readonly hostProgram: string;
  /** Fingerprint of the settings of a slot's containers; a container with another one is outdated. */
  readonly settings: ReadonlyMap<string, string>;
}

/** A container of this manager whose slot is no longer configured. */
export interface Stray extends ObservedContainer {
  readonly slot: string;
  readonly busyWith: string | undefined;
  readonly retryAt: number;
}

/** The observed state. */
export interface Observed {
  /** Monotonic. */
  readonly now: number;
  readonly slots: ReadonlyMap<string, ObservedSlot>;
  readonly strays: readonly Stray[];
}

/** One step towards the desired state. The table in actions.ts says when each is chosen and what it does. */
export type Action =
  | { readonly kind: 'launch'; readonly slot: string }
  | { readonly kind: 'collect'; readonly slot: string; readonly container: string }
  | {
      readonly kind: 'discard';
      readonly slot: string;
      readonly container: string;
      /** Why it is tried again, if a removal hangs. */
      readonly cause?: Cause;
    }
  | {
      readonly kind: 'retire';
      readonly slot: string;
      readonly container: string;
      readonly reason: string;
      /** The container's fault, if that is the reason. */
      readonly cause?: Cause;
    }
  | { readonly kind: 'disable'; readonly slot: string; readonly reason: string }
  | { readonly kind: 'enable'; readonly slot: string }
  | { readonly kind: 'end-key'; readonly slot: string }
  | { readonly kind: 'publish'; readonly slot: string };
