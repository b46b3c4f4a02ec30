// A job's variables: what is secret, what steps see of them, macros.

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

  /** `$(name)`; of a variable that there is not it stays. */
  expand(text) {
    return text.replace(
      /\$\(([^()]+)\)/gu,
      (macro, name) => this.#values.get(name.toLowerCase())?.value ?? macro,
    );
  }

  /** `BUILD_BUILDID` for `build.buildId`; secrets are left out. */
  environment() {
    const open = [...this.#values].filter(([key]) => !this.#secret.has(key));
    return Object.fromEntries(open.map(([, { name, value }]) => [environmentName(name), value]));
  }
}

export const environmentName = (name) => name.replace(/[ .]/gu, '_').toUpperCase();
