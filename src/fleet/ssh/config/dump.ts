/** What `ssh -G` prints: options by name in lower case, each with the texts of its lines. */
export type Dump = ReadonlyMap<string, readonly string[]>;

export function parseDump(text: string): Dump {
  const options = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, option = '', value = ''] = /^(\S+)(?: (.*))?$/.exec(line) ?? [];
    if (option === '') continue;
    const name = option.toLowerCase();
    const known = options.get(name);
    if (known === undefined) options.set(name, [value]);
    else known.push(value);
  }
  return options;
}

/** Files on one line. Blanks within a path cannot be told from those between two: a path begins with `/` or `~`. */
export function filesOf(value: string): readonly string[] {
  return value
    .split(/\s+(?=[/~]|none(?:\s|$))/)
    .filter((file) => file !== '' && file.toLowerCase() !== 'none');
}

/** Which files were read, from what `ssh -v` says on stderr. */
export function filesRead(said: string): readonly string[] {
  return [...said.matchAll(/^debug\d: Reading configuration data (.+?)\r?$/gm)].map(([, file = '']) => file);
}

/** What ssh has to say for itself, without what -v adds. */
export function complaintOf(said: string): string {
  return said
    .split(/\r?\n/)
    .filter((line) => line !== '' && !/^(debug\d: |OpenSSH_|Pseudo-terminal )/.test(line))
    .join('\n');
}
