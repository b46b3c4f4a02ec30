/** A damage that no run could show, and why. */
interface Equivalent {
  readonly why: string;
  /** The damaged line has this in it, … */
  readonly line: string | RegExp;
  /** … and it was damaged so, … */
  readonly kind?: string;
  /** … and then has this. */
  readonly after?: string | RegExp;
}

const number = 'it is a number';
const name = 'our own names, ids and digests hold nothing that splits';

export const equivalents: readonly Equivalent[] = [
  {
    why: 'a list of commands that ends in && ends no script, either',
    line: /\|\| (?::|true)$/,
    kind: 'operator',
    after: /&& (?::|true)$/,
  },
  {
    why: 'systemd is asked where its answer decides nothing',
    line: 'reset-failed docker.service',
    kind: 'rest',
  },
  {
    why: 'the words of a failure, whose exit code nobody asks',
    line: 'journalctl -u docker.service',
    kind: 'rest',
  },
  {
    why: 'braces are plain characters to sh',
    line: '{{.Server.Version}}',
    kind: 'quotes',
    after: '--format {{',
  },
  {
    why: number,
    line: /"\$(?:waited|pause|have|s|o)"/,
    kind: 'quotes',
    after: /(?<!")\$(?:waited|pause|have|s|o)\b/,
  },
  {
    why: name,
    line: /"\$(?:seen|from|to|h|mine|joined|kernel)"/,
    kind: 'quotes',
    after: /(?<!")\$(?:seen|from|to|h|mine|joined|kernel)\b/,
  },
  { why: name, line: /"\$service/, kind: 'quotes', after: /(?<!")\$service/ },
  { why: name, line: /"\$(?:compiler|\{entry%% \*\}|\{release%% \*\})"/, kind: 'quotes' },
  { why: 'a process id', line: 'echo "$$"', kind: 'quotes' },
];
