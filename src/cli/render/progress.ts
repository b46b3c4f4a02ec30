import { setTimeout as delay } from 'node:timers/promises';
import { Listr } from 'listr2';

import type { EventSink, FleetEvent } from '../../fleet/apply/events.ts';
import type { Context } from '../../shared/base/context.ts';
import { foreignProblem } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { alike, hostLabel, signature } from './alike.ts';
import { fold, say, wrap } from './lines.ts';
import { problemLines } from './problem.ts';
import { advance, emptyModel, FleetRenderer, intervalMs, settled } from './progress-frame.ts';

export interface Progress {
  readonly sink: EventSink;
  /** Runs a question and draws nothing until it is answered. */
  aside<T>(question: () => Promise<T>): Promise<T>;
  /** Call it once, when all hosts are settled or the work ended early. Resolves when the screen is complete. */
  finish(): Promise<void>;
}

/**
 * Draws the engine's events on stderr: a live list on a terminal, lines elsewhere, nothing with --json (the result
 * document contains them). stdout is reserved for the result.
 */
export function createProgress(
  context: Context,
  options: { readonly hosts: readonly string[]; readonly json: boolean },
): Progress {
  const progress = progressFor(context, options);
  return {
    ...progress,
    sink(raw) {
      const event = cleanEvent(raw);
      context.log.log('debug', event.kind, { ...event });
      progress.sink(event);
    },
  };
}

function progressFor(
  context: Context,
  { hosts, json }: { readonly hosts: readonly string[]; readonly json: boolean },
): Progress {
  if (json) return { sink: () => undefined, aside: ask, finish: () => Promise.resolve() };
  const live = context.stderr.isTTY === true && context.env['TERM'] !== 'dumb';
  return live ? liveProgress(context, hosts) : lineProgress(context);
}

function lineProgress({ stderr }: Context): Progress {
  const repeats = new Repeats();
  const width = () => stderr.columns ?? 100;
  return {
    sink(event) {
      if (isRemark(event) && !repeats.isNew(event)) return;
      const line = eventLine(event, width());
      if (line !== undefined && event.kind !== 'change-output') say(stderr, `${line}\n`);
    },
    aside: ask,
    finish() {
      for (const line of restLines(repeats, width())) say(stderr, `${line}\n`);
      return Promise.resolve();
    },
  };
}

const ask = <T>(question: () => Promise<T>) => question();

function liveProgress(context: Context, hosts: readonly string[]): Progress {
  let model = emptyModel(hosts);
  const repeats = new Repeats();
  const width = () => context.stderr.columns ?? 80;
  let above: string[] = [];
  let asking = 0;
  let ended = false;
  // One task for all hosts: after the last host is settled there may still be notes, such as a server that limits requests.
  const finished = Promise.withResolvers<void>();
  const listr = new Listr([{ title: 'hosts', task: () => finished.promise }], {
    registerSignalListeners: false,
    renderer: FleetRenderer,
    fallbackRenderer: 'silent',
    forceTTY: true,
    rendererOptions: {
      model: () => model,
      stream: context.unfiltered.stderr,
      now: () => context.clock.monotonic(),
      hidden: () => asking > 0,
      drain: () => {
        const lines = above;
        above = [];
        return lines;
      },
    },
  });
  const done = listr.run();
  return {
    sink(event) {
      model = advance(model, event, context.clock.monotonic());
      if (isRemark(event) && repeats.isNew(event)) {
        const line = fold(eventLine(event, width()) ?? '', width());
        if (ended) context.stderr.write(`${line}\n`);
        else above.push(line);
      }
    },
    async aside(question) {
      asking += 1;
      try {
        // The renderer clears the screen within its interval; the question follows.
        await delay(2 * intervalMs);
        return await question();
      } finally {
        asking -= 1;
      }
    },
    async finish() {
      above.push(...restLines(repeats, width()).map((line) => fold(line, width())));
      finished.resolve();
      await done;
      ended = true;
      for (const line of above.splice(0)) context.stderr.write(`${line}\n`);
    },
  };
}

/** Returns whether the event is printed above the display and stays there. */
function isRemark(event: FleetEvent): event is Remark {
  return event.kind === 'note' || event.kind === 'problem';
}

/** Returns the lines of remarks that repeat on other hosts. */
export function restLines(repeats: Repeats, width: number): string[] {
  return repeats.rest().flatMap(({ remark, names }) => {
    if (remark.kind === 'problem') return problemLines(remark.problem, width - 1, names);
    const listed = names === undefined ? [] : wrap(names, width - 3, 0, 0).map((line) => `  ${line}`);
    return [eventLine(remark, width) ?? '', ...listed];
  });
}

/** Returns an event as one line with its host, for logs and pipes; undefined for minor events. */
export function eventLine(event: FleetEvent, width: number): string | undefined {
  switch (event.kind) {
    case 'host-state':
      if (settled.has(event.state) || event.state === 'rebooting')
        return `${event.host}: ${[event.state, event.text].filter(Boolean).join(': ')}`;
      return (event.state === 'proving' || event.state === 'asking') && event.text !== undefined
        ? `${event.host}: ${event.text}`
        : undefined;
    case 'change-start':
      return `${event.host}: ${event.title} …`;
    case 'change-end':
      return `${event.host}: ${event.title}: ${event.ok ? 'done' : 'failed'} in ${seconds(event.durationMs)}${event.resumed ? ' (started by an earlier run)' : ''}`;
    case 'note':
      return event.host === undefined ? event.text : `${event.host}: ${event.text}`;
    case 'problem':
      return problemLines(event.problem, width - 1).join('\n');
    case 'change-output':
      return `${event.host}:   ${foreignLine(event.line).trim()}`;
    default:
      return undefined;
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** An event that is printed above the display. */
export type Remark = Extract<FleetEvent, { readonly kind: 'note' | 'problem' }>;

interface Reported {
  readonly first: string;
  readonly others: { readonly host: string; readonly value: Remark }[];
}

/** Holds back remarks that another host already had, so that they are printed once for all of these hosts. */
export class Repeats {
  readonly #reported = new Map<string, Reported>();

  /** Returns whether to print the remark now; remarks without a host are always printed. */
  isNew(remark: Remark): boolean {
    const host = hostOf(remark);
    if (host === undefined) return true;
    const key = signature(host, withoutHost(remark));
    const before = this.#reported.get(key);
    if (before === undefined) this.#reported.set(key, { first: host, others: [] });
    if (before === undefined || before.first === host) return true;
    before.others.push({ host, value: withoutHost(remark) });
    return false;
  }

  /** Returns the remarks held back since the last call, with host names if the remark shows only their number. */
  rest(): readonly { readonly remark: Remark; readonly names?: string }[] {
    const heldBack = [...this.#reported.values()].flatMap(({ others }) => others.splice(0));
    return alike(heldBack).map(({ hosts, value }) => {
      const { label, ...more } = hostLabel(hosts);
      return { remark: withHost(value, label), ...more };
    });
  }
}

function hostOf(remark: Remark): string | undefined {
  return remark.kind === 'note' ? remark.host : remark.problem.host;
}

function withoutHost(remark: Remark): Remark {
  if (remark.kind === 'note') return { kind: 'note', text: remark.text };
  const { host: _host, ...problem } = remark.problem;
  return { kind: 'problem', problem };
}

function withHost(remark: Remark, host: string): Remark {
  return remark.kind === 'note' ? { ...remark, host } : { ...remark, problem: { ...remark.problem, host } };
}

/** Returns an event that is safe to draw and log: most contain output of hosts, and each text becomes one line. */
function cleanEvent(event: FleetEvent): FleetEvent {
  return event.kind === 'problem'
    ? { ...event, problem: foreignProblem(event.problem) }
    : foreignValue(event, (text) => foreignLine(text));
}
