import type { Agent } from 'node:http';

import type { SshSpec } from '../inventory/fleet.ts';

/** The result of one script. A lost connection is an error (`ssh.connection-lost`), never a result. */
export interface ScriptResult {
  /** Exit code of the script; 128 + n when a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds. */
  readonly durationMs: number;
}

export interface ScriptOptions {
  /** `root` (default) goes through sudo when the login user is not root. */
  readonly as?: 'root' | 'login';
  /** Milliseconds for the whole script; default 60 000. */
  readonly totalTimeoutMs?: number;
  /** Milliseconds without any output; default: none. */
  readonly silenceTimeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Bytes that each stream may have; with more the script is ended (`ssh.output-too-long`), and so is the connection. Default 4 MiB. */
  readonly outputLimit?: number;
  /** Called with each whole line of stdout and stderr as it comes. */
  readonly onLine?: (line: string) => void;
}

export type UploadSource =
  | {
      readonly file: string;
      readonly sha256: string;
      readonly size: number;
      /** It is so many bytes of the file, from there on; absent: all of it. */
      readonly part?: { readonly start: number; readonly bytes: number };
    }
  | { readonly bytes: Uint8Array };

export interface UploadOptions {
  /** Octal, e.g. 0o755. Owner is root. */
  readonly mode: number;
  /** The source is gzip-compressed on disk (its name ends in .gz) and is unpacked on the host; sha256 is that of the unpacked content. */
  readonly gunzip?: boolean;
  readonly onProgress?: (sentBytes: number, totalBytes: number) => void;
  /** Its turn among the uploads has come, and it may take so many milliseconds from now. */
  readonly onTurn?: (limitMs: number) => void;
  readonly signal?: AbortSignal;
}

/** A change that runs as a transient systemd unit, so that it survives a lost connection. */
export interface DurableSpec {
  /** `[a-z0-9-]+`, the same in every run for the same change on the same facts. */
  readonly id: string;
  readonly title: string;
  /** Runs as root under `sh -eu`. Must hold no secret: it is stored on the host (0600). */
  readonly script: string;
  /** Shown to a second CLI: `user@laptop`. */
  readonly owner: string;
  readonly totalTimeoutMs: number;
}

export interface DurableResult {
  readonly code: number;
  /** The last lines of its output, bounded. */
  readonly tail: string;
  /** True when the unit had been started by an earlier run and was only followed. */
  readonly resumed: boolean;
  /** Who started it, when an earlier run did. */
  readonly startedBy?: string;
}

/** One authenticated connection to one host. All methods reject with FleetError (host filled in). */
export interface Session {
  readonly host: string;
  /** Runs a POSIX sh script in one exec; the text travels by stdin, never by argv. */
  script(text: string, options?: ScriptOptions): Promise<ScriptResult>;
  /** Puts a file in place atomically; skipped when the host has the same content. True when it was sent. */
  upload(source: UploadSource, path: string, options: UploadOptions): Promise<boolean>;
  /** Starts the unit, or finds the one with this id, follows its output, reconnects after a cut, returns its result. */
  durable(spec: DurableSpec, options?: Pick<ScriptOptions, 'onLine' | 'signal'>): Promise<DurableResult>;
  /** Follows a change that an earlier run started; undefined when none with this id is running. */
  follow(id: string, options?: Pick<ScriptOptions, 'onLine' | 'signal'>): Promise<DurableResult | undefined>;
  /** An HTTP agent whose sockets are the given unix socket of the host (root's view: falls back to a sudo pipe). */
  socketAgent(path: string): Agent;
  /**
   * Takes the host's lock (flock, dies with the connection); rejects with `ssh.locked` naming the holder. Once the lock
   * is lost (broken, or expired) scripts and uploads reject with `ssh.lock-lost`. A change that reconnects has it again
   * where nobody else has had it meanwhile, and else rejects with `ssh.lock-lost`, naming them.
   */
  lock(owner: LockOwner, options?: LockOptions): Promise<HostLock>;
  /** Aborted when the connection is gone. A durable change reconnects: then this is the new connection's. */
  readonly closed: AbortSignal;
  close(): Promise<void>;
}

export interface LockOwner {
  /** `user@laptop` */
  readonly who: string;
  /** The command line, e.g. `azp-fleet provision inventory.yaml`. */
  readonly command: string;
  /** ISO 8601. */
  readonly since: string;
}

export interface LockOptions {
  /** Takes it from its present holder. */
  readonly break?: boolean;
  /** This owner held it on a lost connection: rejects with `ssh.lock-lost` where another owner held it since. */
  readonly again?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called now and then while the lock of an owner who is silent is waited for: whose, and for how long at most. */
  readonly onWait?: (text: string) => void;
}

export interface HostLock {
  /** The owner whose lock was broken, when it was. */
  readonly broke?: LockOwner;
  /** Returns whether another owner may hold it by now: it was broken, or it expired unreleased. */
  lost(): boolean;
  release(): Promise<void>;
}

export interface Target {
  readonly name: string;
  readonly ssh: SshSpec;
}

export interface Transport {
  connect(target: Target, options?: { readonly signal?: AbortSignal }): Promise<Session>;
  /** Closes every connection, jump hosts included. */
  close(): Promise<void>;
}
