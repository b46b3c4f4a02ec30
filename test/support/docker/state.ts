import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { join, relative } from 'node:path';
import { untar } from '../../../src/shared/base/tar.ts';

/** One container of the stand-in engine. */
export interface StandInContainer {
  readonly id: string;
  readonly name: string;
  readonly created: number;
  readonly body: {
    readonly Image: string;
    readonly Labels?: Record<string, string>;
    readonly Env?: readonly string[];
    readonly HostConfig?: Record<string, unknown>;
    readonly [key: string]: unknown;
  };
  state: 'created' | 'running' | 'paused' | 'exited' | 'dead';
  /** Set while a removal of it is in progress. */
  isBeingRemoved?: boolean;
  /**
   * State in the list, if it differs: Docker could not save the exit of the container, or shows it as `removing`, for which
   * an inspection says `dead`.
   */
  listedAs?: 'running' | 'removing';
  exitCode: number;
  oomKilled: boolean;
  startedAt: string;
  finishedAt: string;
  /** Archives that were copied in, by folder. */
  readonly archives: { readonly path: string; readonly tar: Buffer }[];
  /** The tar archive that is read out of it, for any path. */
  outgoing: Buffer;
  lines: string[];
}

export interface StandInImage {
  readonly id: string;
  readonly reference: string;
  readonly labels: Record<string, string>;
  readonly created: number;
  readonly bytes: number;
}

/** Calls, for the test to check. */
export interface Call {
  readonly method: string;
  readonly path: string;
  /** Requested path, with the query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** Returns the agent's files that were copied into a container, by their paths in the agent's root. */
export async function agentFilesIn(
  container: StandInContainer | undefined,
): Promise<ReadonlyMap<string, Buffer>> {
  const archives = (container?.archives ?? []).map(async ({ path, tar }) =>
    [...(await untar(tar))].map(([name, content]) => [relative('/azp', join(path, name)), content] as const),
  );
  return new Map((await Promise.all(archives)).flat().filter(([name]) => !name.startsWith('..')));
}

const never = '0001-01-01T00:00:00Z';

export function newContainer(name: string, body: StandInContainer['body']): StandInContainer {
  return {
    id: randomBytes(32).toString('hex'),
    name,
    created: Math.floor(Date.now() / 1000),
    body,
    state: 'created',
    exitCode: 0,
    oomKilled: false,
    startedAt: never,
    finishedAt: never,
    archives: [],
    outgoing: Buffer.alloc(0),
    lines: [],
  };
}
