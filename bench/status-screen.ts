import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

import { keysOf, pressed } from '../src/cli/watch/keys.ts';
import { emptyState, reported, type WatchState } from '../src/cli/watch/state.ts';
import { WholeTerminal } from '../src/cli/watch/terminal.ts';
import { type Size, watchLines } from '../src/cli/watch/view.ts';
import { painter } from '../src/cli/render/color.ts';
import { busy, hot, answerOf, lost, start } from '../test/unit/cli/watch/fleet.ts';
import { figure } from './floor.ts';
import type { Extent } from './measure.ts';
import { recordResults, table } from './results.ts';
import { spread } from './statistics.ts';

/** Milliseconds between two redraws, and between two answers of a host. */
const [redrawMs, answerMs] = [250, 10_000];
const sizes = [
  { width: 80, height: 24 },
  { width: 200, height: 60 },
];

/** `npm run bench -- status-screen [HOSTS]`: CPU of a redraw of `status --watch`, while hosts answer every 10 s. */
export async function run(args: readonly string[], { rounds = 100 }: Extent): Promise<void> {
  const hosts = Number(args[0] ?? 300);
  const lines: (string | number)[][] = [];
  const slowest: number[] = [];
  for (const size of sizes) {
    for (const [name, typed] of [
      ['the list', ''],
      ['scrolled to its end', '\u001b[F'],
      ['a filter', '/gpu-1'],
      ['one host', '\r'],
    ] as const) {
      const taken = await redraws(hosts, rounds, size, typed);
      const { median, least, most } = spread(taken);
      slowest.push(most);
      lines.push([
        `${size.width} × ${size.height}`,
        name,
        median.toFixed(1),
        `${least.toFixed(1)} to ${most.toFixed(1)}`,
      ]);
    }
  }
  recordResults(
    'status-screen',
    `the screen of \`status --watch\` with ${hosts} hosts, ${rounds} redraws each, without the connections`,
    `${table(['terminal', 'shown', 'CPU ms', 'spread'], lines)}\n\nThe slowest redraw takes ${figure(spread(slowest).most, 'ms')} of CPU.`,
    { rows: { 'status-screen.slowest-ms': slowest } },
  );
}

/** Returns milliseconds of CPU for each redraw; before each, as many hosts answer as do between two redraws. */
async function redraws(
  hosts: number,
  rounds: number,
  { width, height }: Pick<Size, 'width' | 'height'>,
  typed: string,
): Promise<readonly number[]> {
  const names = Array.from({ length: hosts }, (_, index) => `gpu-${index}`);
  const sink = Object.assign(new PassThrough().resume(), { isTTY: true });
  const streams = { stdin: new PassThrough(), stdout: sink, unfiltered: { stdout: sink, stderr: sink } };
  const terminal = new WholeTerminal(streams, { keys: () => undefined, resize: () => undefined });
  const sizeAt = (now: number): Size => ({ width, height, paint: painter(sink, {}), now, wall: Date.now() });
  let state = names.reduce((before, name, index) => reported(before, first(name, index)), emptyState(names));
  for (const key of keysOf(typed)) state = pressed(state, key, sizeAt(start)) as WatchState;
  terminal.open();
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const now = start + round * redrawMs;
    const answering = Math.ceil((hosts * redrawMs) / answerMs);
    for (let index = 0; index < answering; index += 1) {
      const name = names[(round * answering + index) % hosts] ?? '';
      const slots = [busy('0', `job ${round}`), busy('1', 'train resnet50')];
      const answer = answerOf(name, { slots, at: now });
      state = reported(state, { kind: 'answer', answer, at: now });
    }
    const from = process.cpuUsage();
    terminal.draw(watchLines(state, sizeAt(now)));
    const { user, system } = process.cpuUsage(from);
    taken.push((user + system) / 1000);
    await setImmediate();
  }
  terminal.close();
  return taken;
}

/** Of 50 hosts one is lost, and of 40 one has failed. */
function first(name: string, index: number) {
  if (index % 50 === 3) return lost(name, start);
  const answer = answerOf(name, index % 40 === 7 ? { health: hot } : {});
  return { kind: 'answer', answer, at: start } as const;
}
