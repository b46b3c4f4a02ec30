// A job's variables: which are secret, their names in steps, macros.

export class Variables {
  #values = new Map();
  #secret = new Set();

  constructor(variables) {
    for (const [name, { value, isSecret }] of Object.entries(variables))
      this.set(name, value, isSecret === true);
  }

  set(name, value, isSecret) {
    this.#values.set(name.toLowerCase(), { name, value: value ?? '' });
    if (isSecret) this.#secret.add(name.toLowerCase());
  }

  get secrets() {
    return [...this.#secret].map((name) => this.#values.get(name).value);
  }

  /** Replaces `$(name)`; a macro of an unknown variable stays. */
  expand(text) {
    return text.replace(
      /\$\(([^()]+)\)/gu,
      (macro, name) => this.#values.get(name.toLowerCase())?.value ?? macro,
    );
  }

  /** Returns `BUILD_BUILDID` for `build.buildId`; without secrets. */
  environment() {
    const open = [...this.#values].filter(([key]) => !this.#secret.has(key));
    return Object.fromEntries(open.map(([, { name, value }]) => [environmentName(name), value]));
  }
}

export const environmentName = (name) => name.replace(/[ .]/gu, '_').toUpperCase();
