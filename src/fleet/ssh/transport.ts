import type { Agent } from 'node:http';

import type { AuditEntry } from '../audit/entry.ts';
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
  /** Maximum bytes of each stream; more ends the script (`ssh.output-too-long`) and the connection. Default 4 MiB. */
  readonly outputLimit?: number;
  /** Called with each line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
  /** Gets the output in chunks; the result then has none. An error that it throws ends the script. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
}

export type UploadSource =
  | {
      readonly file: string;
      readonly sha256: string;
      readonly size: number;
      /** A part of the file; absent: all of it. */
      readonly part?: { readonly start: number; readonly bytes: number };
    }
  | { readonly bytes: Uint8Array };

export interface UploadOptions {
  /** Octal, e.g. 0o755. Owner is root. */
  readonly mode: number;
  /** The source is compressed, and the host unpacks it with this program; sha256 is that of the unpacked content. */
  readonly packed?: 'gzip' | 'zstd';
  readonly onProgress?: (sentBytes: number, totalBytes: number) => void;
  /** Called when the upload starts, with its time limit in milliseconds. */
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
  /** Shown to other users: `user@laptop`. */
  readonly owner: string;
  readonly totalTimeoutMs: number;
}

export interface DurableResult {
  readonly code: number;
  /** The last lines of its output, bounded. */
  readonly tail: string;
  /** An earlier run had started the unit; this run only followed it. */
  readonly resumed: boolean;
  /** Owner of the earlier run. */
  readonly startedBy?: string;
}

/** One authenticated connection to one host. All methods reject with FleetError (host filled in). */
export interface Session {
  readonly host: string;
  /** Runs a POSIX sh script in one exec; the text travels by stdin, never by argv. */
  script(text: string, options?: ScriptOptions): Promise<ScriptResult>;
  /** Replaces a file atomically. Returns false if the host already has the content. */
  upload(source: UploadSource, path: string, options: UploadOptions): Promise<boolean>;
  /**
   * Starts a unit, or finds the one with this id; follows it, over new connections if necessary, and returns its
   * result.
   */
  durable(spec: DurableSpec, options?: Pick<ScriptOptions, 'onLine' | 'signal'>): Promise<DurableResult>;
  /** Follows a change of an earlier run; undefined if none with this id is running. */
  follow(id: string, options?: Pick<ScriptOptions, 'onLine' | 'signal'>): Promise<DurableResult | undefined>;
  /** Returns an HTTP agent for a unix socket of the host; connects as root through sudo if the login user cannot. */
  socketAgent(path: string): Agent;
  /**
   * Takes the host's lock (flock, released with the connection); rejects with `ssh.locked` and its owner. After the
   * lock is lost (broken, or expired) scripts and uploads reject with `ssh.lock-lost`. A change that reconnects takes
   * the lock again; it rejects with `ssh.lock-lost` if another owner held it since.
   */
  lock(owner: LockOwner, options?: LockOptions): Promise<HostLock>;
  /** Aborted when the connection is closed. After a reconnect it is the new connection's. */
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
  /** Written to the host's audit file when the lock is taken, and again with the outcome. */
  readonly audit?: AuditEntry | undefined;
  /** Called from time to time while waiting for the lock of a silent owner, with a message. */
  readonly onWait?: (text: string) => void;
}

export interface HostLock {
  /** The owner whose lock was broken, when it was. */
  readonly broke?: LockOwner;
  /** The key, or the method, of the login, as far as this client knows it. */
  readonly key?: string;
  /** Returns whether another owner may hold it by now: it was broken, or it expired unreleased. */
  lost(): boolean;
  /** `outcome`: for the audit file, such as `changed 3`. */
  release(outcome?: string): Promise<void>;
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
