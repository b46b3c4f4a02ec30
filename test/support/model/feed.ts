/** Sends values to listeners, each from the start of its subscription. */
export class Feed<Value> {
  readonly #listeners = new Set<(value: Value | undefined, isBroken: boolean) => void>();

  send(value: Value): void {
    for (const listener of this.#listeners) listener(value, false);
  }

  /** Ends the feed for all listeners. */
  end(): void {
    for (const listener of this.#listeners) listener(undefined, false);
    this.#listeners.clear();
  }

  /** Breaks the feed for all listeners, which may subscribe again. */
  breakOff(): void {
    for (const listener of this.#listeners) listener(undefined, true);
    this.#listeners.clear();
  }

  /** `before`: sent first. Ends with the feed or the signal; rejects when the feed breaks. */
  async *follow(before: readonly Value[], signal: AbortSignal): AsyncGenerator<Value> {
    const waiting = [...before];
    let over = false;
    let broken = false;
    let wake = (): void => undefined;
    const listener = (value: Value | undefined, isBroken: boolean): void => {
      if (value === undefined) over = true;
      else waiting.push(value);
      broken ||= isBroken;
      wake();
    };
    const stop = (): void => listener(undefined, false);
    this.#listeners.add(listener);
    signal.addEventListener('abort', stop, { once: true });
    try {
      for (;;) {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
        if (broken) throw new Error('the stream was cut off');
        if (over || signal.aborted) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#listeners.delete(listener);
      signal.removeEventListener('abort', stop);
    }
  }
}
