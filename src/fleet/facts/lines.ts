/** Output lines of the form `key value`, or `key=value` as systemctl prints them, kept in order. A key may come several times. */
export class KeyedLines {
  readonly #values = new Map<string, string[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const end = line.search(/[ =]/);
      const key = end < 0 ? line : line.slice(0, end);
      const value = end < 0 ? '' : line.slice(end + 1).trim();
      const values = this.#values.get(key);
      if (values === undefined) this.#values.set(key, [value]);
      else values.push(value);
    }
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  all(key: string): readonly string[] {
    return this.#values.get(key) ?? [];
  }

  /** The first value; undefined when the key is absent or its value is empty. */
  first(key: string): string | undefined {
    const value = this.#values.get(key)?.[0];
    return value === '' ? undefined : value;
  }

  /** Undefined unless it is a whole number. */
  number(key: string): number | undefined {
    const value = this.first(key);
    return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
  }
}
