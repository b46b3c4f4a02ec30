import type { Context } from '../../shared/base/context.ts';
import { escapeHidden } from '../../shared/base/foreign-text.ts';

const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
const leave = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
/** A synchronized update: terminals that know it show all of it at once; others ignore both. */
const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l'];

type Streams = Pick<Context, 'stdin' | 'stdout' | 'unfiltered'>;

/** The whole terminal: an alternate screen without a cursor, whose keys are read one by one. `close` restores it. */
export class WholeTerminal {
  readonly #streams: Streams;
  readonly #onKeys: (chunk: string) => void;
  readonly #onResize: () => void;
  /** The lines on the screen; undefined: it has to be cleared. */
  #drawn: readonly string[] | undefined;
  #isOpen = false;

  constructor(streams: Streams, on: { readonly keys: (chunk: string) => void; readonly resize: () => void }) {
    this.#streams = streams;
    this.#onKeys = on.keys;
    this.#onResize = on.resize;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#drawn = undefined;
    const { stdin, stdout, unfiltered } = this.#streams;
    unfiltered.stdout.write(enter);
    rawMode(stdin, true);
    stdin.on('data', this.#read);
    stdin.resume();
    stdout.on('resize', this.#resized);
    // Also at an exit that runs no `finally`: a second Ctrl-C, or a bug.
    process.once('exit', this.#restore);
  }

  /** Draws the lines of the whole screen: those that differ, in place. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const before = this.#drawn;
    const changed = lines.flatMap((line, index) =>
      before?.[index] === line ? [] : [`\u001b[${index + 1};1H\u001b[K${clean(line)}\u001b[0m`],
    );
    const rest = before === undefined || before.length > lines.length ? '\u001b[2J' : '';
    this.#drawn = lines;
    if (changed.length > 0 || rest !== '')
      this.#streams.unfiltered.stdout.write(`${begin}${rest}${changed.join('')}${end}`);
  }

  close(): void {
    if (!this.#isOpen) return;
    const { stdin, stdout } = this.#streams;
    stdin.off('data', this.#read);
    stdin.pause();
    stdout.off('resize', this.#resized);
    process.off('exit', this.#restore);
    this.#restore();
    this.#isOpen = false;
  }

  readonly #read = (chunk: Buffer | string): void => this.#onKeys(chunk.toString());

  readonly #resized = (): void => {
    this.#drawn = undefined;
    this.#onResize();
  };

  readonly #restore = (): void => {
    rawMode(this.#streams.stdin, false);
    this.#streams.unfiltered.stdout.write(leave);
  };
}

function rawMode(stdin: Streams['stdin'], mode: boolean): void {
  if ('setRawMode' in stdin && typeof stdin.setRawMode === 'function') stdin.setRawMode(mode);
}

const style = /(\u001b\[\d{1,2}m)/;

/** Of all control characters only our styles pass: foreign text is cleaned where it is read, and this catches what was missed. */
function clean(line: string): string {
  return line
    .split(style)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join('');
}
