/** Quotes one argument for a POSIX shell. Safe for any string without NUL, including the empty one. */
export function quote(argument: string): string {
  if (argument.includes('\0')) throw new TypeError('a shell argument cannot contain NUL');
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

/** Text that is already shell syntax and goes into `sh` unquoted. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Raw | readonly (string | number)[];

/** Builds shell text; every value is quoted unless wrapped in `Raw`. An array becomes space-separated arguments. */
export function sh(strings: TemplateStringsArray, ...values: Value[]): string {
  return String.raw({ raw: strings.raw }, ...values.map(render));
}

function render(value: Value): string {
  if (value instanceof Raw) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return quote(String(value));
  return value.map((item) => quote(String(item))).join(' ');
}

/**
 * Shell function `fail WHAT EXPECTED SEEN NEXT`: ends the script with the four lines that the CLI turns into a problem.
 */
export const failFunction = `fail() {
  printf 'failed: %s\\nexpected: %s\\nseen: %s\\nnext: %s\\n' "$1" "$2" "$3" "$4" >&2
  exit 1
}`;
