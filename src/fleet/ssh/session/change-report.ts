import { FleetError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { LastBytes } from './last-bytes.ts';
import type { DurableResult } from '../transport.ts';

/** Where changes live on their host, a folder each. Mirrors HostPaths.changes. */
export const changesFolder = '/var/lib/azp-fleet/changes';
/** Bytes of output kept for the result. */
const tailLimit = 16_384;

/** What is known of a change that was being followed when the connection was cut. */
export interface Joined {
  /** Bytes of its output that have come, up to the last whole line: a cut line comes again. */
  readonly offset: number;
  /** The InvocationID of its unit; empty where that was cut off, too. */
  readonly invocation: string;
}

/** What the scripts about a change have said of it so far, over all connections, and what that means. */
export class ChangeReport {
  /** Undefined as long as it is not known whether there is one. */
  #invocation: string | undefined;
  #startedBy: string | undefined;
  /** The word with which the script ended. */
  #ending: { readonly word: string; readonly text: string } | undefined;
  #complaint = '';
  #offset = 0;
  #open = 0;
  readonly #last = new LastBytes(tailLimit);

  get joined(): Joined | undefined {
    if (this.#invocation === undefined) return undefined;
    return { offset: this.#offset, invocation: this.#invocation };
  }

  output(chunk: Buffer): void {
    if (chunk.length === 0) return;
    // Where the word that belongs before it was cut off: what has an output has been started.
    this.#invocation ??= '';
    const end = chunk.lastIndexOf(10);
    if (end === -1) this.#open += chunk.length;
    else {
      this.#offset += this.#open + end + 1;
      this.#open = chunk.length - end - 1;
    }
    this.#last.push(chunk);
  }

  /** The connection has been cut: what was said last is said again. */
  cut(): void {
    this.#last.drop(this.#open);
    this.#open = 0;
    this.#ending = undefined;
  }

  /** A line of stderr. */
  control(line: string): void {
    const [word = '', ...rest] = line.split(' ');
    const text = rest.join(' ');
    if (word === 'started') this.#invocation = text;
    else if (word === 'following') {
      this.#invocation = rest[0] ?? '';
      this.#startedBy = foreignLine(rest.slice(1).join(' '), 200);
    } else if (endings.has(word)) this.#ending = { word, text };
    else this.#complaint = line;
  }

  /** Undefined: there is no such change. Throws where it has no exit code. */
  result(host: string, id: string): DurableResult | undefined {
    const { word, text } = this.#ending ?? { word: 'unknown', text: '' };
    const seen = text === '' ? this.#complaint : text;
    switch (word) {
      case 'none':
        return undefined;
      case 'end':
        if (!/^\d{1,3}$/.test(text)) throw died(host, id, `"${text}" in its place`);
        return {
          code: Number(text),
          tail: this.#last.toString(),
          resumed: this.#startedBy !== undefined,
          ...(this.#startedBy === undefined ? {} : { startedBy: this.#startedBy }),
        };
      case 'dead':
        throw text === 'Result=timeout' ? late(host, id) : died(host, id, deaths[text] ?? text);
      case 'nosystemd':
        throw noSystemd(host);
      case 'notstarted':
        throw notStarted(host, id, seen);
      default:
        throw unknown(host, id, seen);
    }
  }
}

/** `end CODE`, `dead WHY`, `none`, `unknown WHY`, `notstarted WHY`, `nosystemd`. */
const endings = new Set(['end', 'dead', 'none', 'unknown', 'notstarted', 'nosystemd']);

const deaths: Readonly<Record<string, string>> = {
  gone: 'its unit is gone: the host was restarted, or somebody stopped it',
  replaced: 'a later start of the same change in its place',
};

const look = (id: string): string => `tail -n 50 ${changesFolder}/${id}/output   # on the host`;

function died(host: string, id: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.change-died',
    host,
    what: `the change ${id} ended without a result`,
    expected: 'an exit code',
    seen,
    next: `${look(id)}; then run the command again`,
  });
}

function late(host: string, id: string): FleetError {
  return new FleetError({
    code: 'ssh.change-timeout',
    host,
    what: `the change ${id} ran out of time and was stopped`,
    expected: 'an exit code',
    seen: 'Result=timeout',
    next: `${look(id)}; then run the command again`,
  });
}

function notStarted(host: string, id: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.change-not-started',
    host,
    what: `the change ${id} could not be started: nothing of it has run`,
    expected: 'a unit of systemd',
    seen: seen === '' ? 'no word of why' : seen,
    next: `df /var/lib; systemctl is-system-running   # on the host; then run the command again`,
  });
}

function unknown(host: string, id: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.change-unknown',
    host,
    what: `whether the change ${id} runs, or has run, is not known`,
    expected: 'an answer of systemd',
    seen: seen === '' ? 'none' : seen,
    next: `systemctl status azp-fleet-change-${id}   # on the host; when it answers, run the command again: what runs is followed`,
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
