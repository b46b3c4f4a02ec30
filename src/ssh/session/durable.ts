import { randomBytes } from 'node:crypto';

import { timestamp, type Clock } from '../../base/machine/clock.ts';
import { FleetError } from '../../base/errors.ts';
import { followChangeScript, startChangeScript } from './durable-script.ts';
import type { RunParts } from './run-script.ts';
import type { DurableResult, DurableSpec, ScriptOptions, ScriptResult } from '../transport.ts';

type FollowOptions = Pick<ScriptOptions, 'onLine' | 'signal'>;

/** What following needs of its session: scripts, and a new connection after a cut. */
export interface DurableHost {
  readonly host: string;
  readonly clock: Clock;
  run(parts: Pick<RunParts, 'text' | 'options' | 'onErrorLine' | 'tap'>): Promise<ScriptResult>;
  /** Resolves when connected again; rejects when that is hopeless before the deadline (monotonic). */
  reconnect(deadline: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Milliseconds that a change may be followed beyond its own limit, for stopping and reconnecting. */
const slackMs = 120_000;
/** Bytes of output kept for the result. */
const tailLimit = 16_384;
const anyTimeMs = 24 * 3_600_000;

export async function startChange(
  session: DurableHost,
  spec: DurableSpec,
  options: FollowOptions,
): Promise<DurableResult> {
  const change = {
    id: spec.id,
    title: spec.title,
    owner: spec.owner,
    script: spec.script,
    limitS: spec.totalTimeoutMs / 1000,
    run: randomBytes(8).toString('hex'),
    since: timestamp(session.clock),
  };
  const result = await follow(session, spec.id, spec.totalTimeoutMs, options, (offset) =>
    startChangeScript(change, offset),
  );
  if (result === undefined) throw died(session.host, spec.id, 'it was never started');
  return result;
}

export function followChange(
  session: DurableHost,
  id: string,
  options: FollowOptions,
): Promise<DurableResult | undefined> {
  return follow(session, id, anyTimeMs, options, (offset, joined) => followChangeScript(id, offset, joined));
}

async function follow(
  session: DurableHost,
  id: string,
  limitMs: number,
  options: FollowOptions,
  script: (offset: number, joined: boolean) => string,
): Promise<DurableResult | undefined> {
  const seen = new Seen();
  const deadline = session.clock.monotonic() + limitMs + slackMs;
  for (;;) {
    try {
      await session.run({
        text: script(seen.offset, seen.joined),
        options: { ...options, totalTimeoutMs: Math.max(1000, deadline - session.clock.monotonic()) },
        onErrorLine: (line) => seen.control(line),
        tap: (chunk) => seen.output(chunk),
      });
      break;
    } catch (error) {
      const lost = error instanceof FleetError && error.problem.code === 'ssh.connection-lost';
      if (!lost || session.clock.monotonic() > deadline) throw error;
      options.onLine?.('(connection lost; the change goes on on the host; reconnecting)');
      await session.reconnect(deadline, options.signal);
      seen.cut();
    }
  }
  if (seen.none) return undefined;
  if (seen.code !== undefined) {
    return {
      code: seen.code,
      tail: seen.tail,
      resumed: seen.startedBy !== undefined,
      ...(seen.startedBy === undefined ? {} : { startedBy: seen.startedBy }),
    };
  }
  if (seen.complaint === 'nosystemd') throw noSystemd(session.host);
  throw died(session.host, id, seen.dead ?? seen.complaint);
}

/** What has come of a change so far, over all connections. */
class Seen {
  code: number | undefined;
  dead: string | undefined;
  none = false;
  joined = false;
  complaint = 'no output';
  startedBy: string | undefined;
  tail = '';
  /** Bytes of output received up to the last whole line: a cut line comes again. */
  offset = 0;
  #open = 0;

  output(chunk: Buffer): void {
    const end = chunk.lastIndexOf(10);
    if (end === -1) this.#open += chunk.length;
    else {
      this.offset += this.#open + end + 1;
      this.#open = chunk.length - end - 1;
    }
    this.tail = (this.tail + chunk.toString()).slice(-tailLimit);
  }

  cut(): void {
    if (this.#open > 0) this.tail = this.tail.slice(0, this.tail.lastIndexOf('\n') + 1);
    this.#open = 0;
  }

  control(line: string): void {
    const [word, ...rest] = line.split(' ');
    const text = rest.join(' ');
    if (word === 'end') this.code = Number(text);
    else if (word === 'dead') this.dead = text;
    else if (word === 'none') this.none = true;
    else if (word === 'started') this.joined = true;
    else if (word === 'following') {
      this.joined = true;
      this.startedBy = text;
    } else if (word !== 'notstarted') this.complaint = line;
  }
}

function died(host: string, id: string, seen: string): FleetError {
  const late = seen.includes('timeout');
  return new FleetError({
    code: late ? 'ssh.change-timeout' : 'ssh.change-died',
    host,
    what: late
      ? `the change ${id} ran out of time and was stopped`
      : `the change ${id} ended without a result`,
    expected: 'an exit code',
    seen,
    next: `tail -n 50 /var/lib/azp-fleet/changes/${id}/output   # on the host; then run the command again`,
  });
}

function noSystemd(host: string): FleetError {
  return new FleetError({
    code: 'ssh.no-systemd',
    host,
    what: 'the host has no systemd-run',
    expected: 'systemd, which keeps long changes alive when the connection is not',
    next: 'leave this host out: azp-fleet works on systems that systemd runs',
  });
}
