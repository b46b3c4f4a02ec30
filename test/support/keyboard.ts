import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

const keys = { Enter: '\r', Down: '\u001b[B', Space: ' ', Backspace: '\u007f' } as const;

/** A question (part of it is enough) and the keys that answer it. */
export type Answer = readonly [question: string, ...keys: string[]];

/** Replaces the terminal's two streams: real prompts draw into it and read the typed keys. */
export class Keyboard {
  readonly stdin = new PassThrough();
  readonly stdout = Object.assign(new PassThrough(), { columns: 80 });
  readonly signal = new AbortController().signal;
  /** Everything drawn since the last question that was answered. */
  #drawn = '';
  #wake: () => void = () => undefined;

  constructor() {
    // Each prompt ends its output when it is done; a terminal ignores that.
    this.stdout.end = () => this.stdout;
    this.stdout.on('data', (chunk: Buffer) => {
      this.#drawn += stripVTControlCharacters(chunk.toString());
      this.#wake();
    });
  }

  /** Waits for each question and answers it: names of keys, or text to type. Enter ends each answer. */
  async answer(...script: readonly Answer[]): Promise<void> {
    for (const [question, ...typed] of script) {
      await this.see(question);
      this.#drawn = '';
      // A prompt listens from the turn after the one in which it draws.
      await setImmediate();
      for (const key of [...typed, 'Enter'])
        this.stdin.write(key in keys ? keys[key as keyof typeof keys] : key);
    }
  }

  /** Clears everything drawn so far. */
  forget(): void {
    this.#drawn = '';
  }

  async see(text: string): Promise<void> {
    while (!this.#drawn.includes(text)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
