import { setTimeout as delay } from 'node:timers/promises';

import { Listr } from 'listr2';

import type { Context } from '../../shared/base/context.ts';
import type { EventSink } from '../../fleet/apply/events.ts';
import { fold } from './lines/fold.ts';
import { say } from './lines/say.ts';
import { cleanEvent } from './progress/clean-event.ts';
import { FleetRenderer, intervalMs } from './progress/fleet-renderer.ts';
import { eventLine, isRemark, restLines } from './progress/lines.ts';
import { advance, emptyModel, settled } from './progress/model.ts';
import { Repeats } from './progress/repeats.ts';

export interface Progress {
  readonly sink: EventSink;
  /** Asks something while nothing is drawn over the question. */
  aside<T>(question: () => Promise<T>): Promise<T>;
  /** Call it once, when all hosts are settled or the work ended early. Resolves when the screen is quiet. */
  finish(): Promise<void>;
}

/**
 * Draws the engine's events on stderr: a live list on a terminal, lines elsewhere, nothing with --json
 * (the result document then says it all). stdout stays free for the result.
 */
export function createProgress(
  context: Context,
  options: { readonly hosts: readonly string[]; readonly json: boolean },
): Progress {
  const progress = progressFor(context, options);
  return {
    ...progress,
    sink(said) {
      const event = cleanEvent(said);
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
  // Made before the tasks start: work may end before listr2 has begun with them.
  const hostDone = new Map(hosts.map((host) => [host, Promise.withResolvers<void>()]));
  const tasks = [...hostDone].map(([host, { promise }]) => ({ title: host, task: () => promise }));
  const listr = new Listr(tasks, {
    concurrent: true,
    exitOnError: false,
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
      if (isRemark(event) && repeats.isNew(event)) above.push(fold(eventLine(event, width()) ?? '', width()));
      if (event.kind === 'host-state' && settled.has(event.state)) hostDone.get(event.host)?.resolve();
    },
    async aside(question) {
      asking += 1;
      try {
        // The drawer clears the screen within its interval; the question comes after that.
        await delay(2 * intervalMs);
        return await question();
      } finally {
        asking -= 1;
      }
    },
    async finish() {
      above.push(...restLines(repeats, width()).map((line) => fold(line, width())));
      for (const { resolve } of hostDone.values()) resolve();
      await done;
    },
  };
}
