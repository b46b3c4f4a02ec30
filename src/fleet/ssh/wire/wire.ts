import type { Duplex, Readable, Writable } from 'node:stream';

/** How a remote process ended. `code` null: it did not end, the connection did. */
export interface Ending {
  readonly code: number | null;
  /** `KILL`, when a signal ended it. */
  readonly signal: string | undefined;
}

/** One remote process. */
export interface WireProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. Settles after all output has been read. */
  readonly ended: Promise<Ending>;
  /** Asks the process to end and gives the channel up. */
  kill(): void;
}

/** One authenticated connection: the little that sessions are built on. Built-in client and system ssh both give it. */
export interface Wire {
  /** Rejects when the host opens no channel. */
  exec(command: string): Promise<WireProcess>;
  /** A stream to a unix socket of the host, as the login user. Rejects when the host forbids or lacks it. */
  openSocket(path: string): Promise<Duplex>;
  readonly closed: AbortSignal;
  /** Commands that may run at the same time. */
  readonly channels: number;
  close(): Promise<void>;
  /** Ends the connection at once: its host says more than it should. */
  cut(): void;
}

/** sshd's MaxSessions is 10 by default; a person's own multiplexed session may want one. */
export const usualChannels = 8;

/** Releases of dropbear that may end the whole connection when a command begins while another one ends (mkj/dropbear#321). */
const fallible = { from: 2022.82, fixed: 2024.86 } as const;

/** Commands that a server may be given at the same time. `software`: what it calls itself, as `dropbear_2022.83`. */
export function channelsOf(software: string): number {
  const [, version] = /^dropbear(?:_(\d{4}\.\d+))?/.exec(software) ?? [];
  if (!software.startsWith('dropbear')) return usualChannels;
  // Without a version it may be one of them.
  const release = Number(version ?? fallible.from);
  return release >= fallible.from && release < fallible.fixed ? 1 : usualChannels;
}
