import type { ListrRenderer } from 'listr2';

import type { OutputStream } from '../../base/context.ts';
import { frame } from './frame.ts';
import type { ProgressModel } from './model.ts';

export interface FleetRendererOptions {
  readonly model: () => ProgressModel;
  readonly stream: OutputStream;
  /** Milliseconds on the clock of the events. */
  readonly now: () => number;
  /** A question is on the screen: draw nothing. */
  readonly hidden: () => boolean;
  /** Lines to print above the display since the last call: notes and problems. */
  readonly drain: () => readonly string[];
}

/** How often the screen is drawn, whatever the number of events: listr2's own renderer draws on each of them. */
export const intervalMs = 120;

/** A listr2 renderer that draws a bounded frame at a fixed rate and leaves only notes and problems behind: the result
 * that follows names every host. */
export class FleetRenderer implements ListrRenderer {
  static rendererOptions: FleetRendererOptions;
  static rendererTaskOptions: Record<string, never>;
  static nonTTY = false;
  readonly #options: FleetRendererOptions;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;

  constructor(_tasks: unknown, options: FleetRendererOptions) {
    this.#options = options;
  }

  render(): void {
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), intervalMs);
  }

  end(): void {
    clearInterval(this.#timer);
    const notes = this.#options.drain().map((line) => `${line}\n`);
    this.#options.stream.write(`${this.#erase()}${notes.join('')}\u001b[?25h`);
  }

  #draw(): void {
    const { model, stream, now, drain, hidden } = this.#options;
    if (hidden()) {
      if (this.#drawn > 0) stream.write(`${this.#erase()}\u001b[?25h`);
      this.#drawn = 0;
      return;
    }
    if (this.#drawn === 0) stream.write('\u001b[?25l');
    const above = drain().map((line) => `${line}\n`);
    const lines = frame(model(), { columns: this.#columns(), rows: (stream.rows ?? 24) - 1 }, now());
    stream.write(`${this.#erase()}${above.join('')}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  #columns(): number {
    return this.#options.stream.columns ?? 80;
  }

  /** Line by line first: what is erased at once from the top left corner on, tmux keeps in its history. */
  #erase(): string {
    const up = `\u001b[${this.#drawn}A`;
    return this.#drawn === 0 ? '' : `${up}${'\u001b[2K\n'.repeat(this.#drawn)}${up}\u001b[0J`;
  }
}
