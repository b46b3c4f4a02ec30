import type { ListrRenderer } from 'listr2';

import { columnsOf } from '../../../shared/base/columns.ts';
import type { OutputStream } from '../../../shared/base/context.ts';
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
  /** Columns of each line of the last frame. */
  #drawn: readonly number[] = [];

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
      if (this.#drawn.length > 0) stream.write(`${this.#erase()}\u001b[?25h`);
      this.#drawn = [];
      return;
    }
    if (this.#drawn.length === 0) stream.write('\u001b[?25l');
    const above = drain().map((line) => `${line}\n`);
    const lines = frame(model(), { columns: this.#columns(), rows: this.#rows() }, now());
    stream.write(`${this.#erase()}${above.join('')}${lines.join('\n')}\n`);
    this.#drawn = lines.map((line) => columnsOf(line));
  }

  #columns(): number {
    return this.#options.stream.columns ?? 80;
  }

  /** Lines that a frame may have: the cursor stands below it. */
  #rows(): number {
    return Math.max(1, (this.#options.stream.rows ?? 24) - 1);
  }

  /**
   * Line by line first: what is erased at once from the top left corner on, tmux keeps in its history. A terminal that has
   * become narrower since has broken the lines of the last frame; of one that has become lower the first are out of reach.
   */
  #erase(): string {
    const broken = this.#drawn.map((columns) => Math.max(1, Math.ceil(columns / this.#columns())));
    const taken = Math.min(
      broken.reduce((sum, rows) => sum + rows, 0),
      this.#rows(),
    );
    const up = `\u001b[${taken}A`;
    return taken === 0 ? '' : `${up}${'\u001b[2K\n'.repeat(taken)}${up}\u001b[0J`;
  }
}
