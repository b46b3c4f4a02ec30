import type { Duplex, Readable, Writable } from 'node:stream';

/** The end of a remote process. `code` null: the connection was lost. */
export interface Ending {
  readonly code: number | null;
  /** Signal that ended it, e.g. `KILL`. */
  readonly signal: string | undefined;
}

/** One remote process. */
export interface WireProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. Settles after all output has been read. */
  readonly ended: Promise<Ending>;
  /** Asks the process to exit and closes the channel. */
  kill(): void;
}

/** One authenticated connection, of the built-in client or the system's ssh. */
export interface Wire {
  /** Runs a command. Rejects if the host opens no channel. */
  exec(command: string): Promise<WireProcess>;
  /** Opens a stream to a unix socket of the host, as the login user. Rejects if the host forbids or lacks it. */
  openSocket(path: string): Promise<Duplex>;
  readonly closed: AbortSignal;
  /** The key that the host accepted, `SHA256:…`, or another method, such as `password`. Absent: unknown. */
  readonly credential?: string;
  /** Maximum commands at a time. */
  readonly channels: number;
  close(): Promise<void>;
  /** Ends the connection at once: its host sends too much. */
  cut(): void;
}

/** sshd's MaxSessions is 10 by default; a multiplexed session of the user may need one. */
export const usualChannels = 8;

/** Dropbear releases that may close the connection if a command starts while another one exits (mkj/dropbear#321). */
const affected = { from: 2022.82, fixed: 2024.86 } as const;

/** Returns the maximum commands at a time of a server. `software`: e.g. `dropbear_2022.83`. */
export function channelsOf(software: string): number {
  const [, version] = /^dropbear(?:_(\d{4}\.\d+))?/.exec(software) ?? [];
  if (!software.startsWith('dropbear')) return usualChannels;
  // A server without a version may be affected.
  const release = Number(version ?? affected.from);
  return release >= affected.from && release < affected.fixed ? 1 : usualChannels;
}
