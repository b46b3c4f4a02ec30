/** The short-lived containers that this process has under way, by name; any other of ours was left by one before it. */
export class Helpers {
  readonly #underWay = new Set<string>();

  async during<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#underWay.add(name);
    try {
      return await work();
    } finally {
      this.#underWay.delete(name);
    }
  }

  has(name: string): boolean {
    return this.#underWay.has(name);
  }
}
