import { Raw, sh } from '../../../shared/base/shell.ts';

/**
 * Returns the command of an exec. All login shells (sh, bash, csh, fish, zsh) parse it the same: no quote inside the
 * quotes, no backslash, no `!`, no newline. It chooses the user of the script, and reads the script from standard
 * input, where ps does not show it, as one line: `read` consumes exactly that line, and the rest is the script's input.
 * (Sending this program by standard input too would cost a round trip if sudo asks for a password.)
 */
export function bootCommand(request: BootRequest): string {
  const program = Buffer.from(bootProgram(request)).toString('base64');
  return `exec /bin/sh -c 'eval "$(echo ${program} | base64 -d)"'`;
}

/** How a script becomes root. `unknown`: the host decides in the same exec. */
export type Elevation = 'unknown' | 'none' | 'free' | 'password';

export interface BootRequest {
  /** Random; marks our lines in the output. */
  readonly nonce: string;
  readonly as: 'root' | 'login';
  readonly elevation: Elevation;
  /** A password is available if sudo asks for one. */
  readonly canAnswer: boolean;
  /** Seconds after which `timeout` ends the script on the host, even if the connection is lost; undefined: never. */
  readonly limitS: number | undefined;
  /** The script reads the rest of standard input; otherwise it has none. */
  readonly input: boolean;
}

/** Lines that the host prints before the script runs. */
export const markers = {
  ready: (nonce: string): string => `@${nonce} ready`,
  prompt: (nonce: string): string => `@${nonce} password:`,
  trouble: (nonce: string): string => `@${nonce} sudo `,
};

/** Replaces newlines of a script, so that it is one line of standard input. */
const newline = '\u0001';

export function scriptLine(script: string): string {
  if (script.includes(newline) || script.includes('\0')) throw new TypeError('a script holds text only');
  return `${script.replaceAll('\n', newline)}\n`;
}

export function bootProgram(request: BootRequest): string {
  const { nonce } = request;
  const limit = request.limitS === undefined ? '' : `timeout -k 5 ${Math.ceil(request.limitS)} `;
  const run = sh`exec ${new Raw(limit)}/bin/sh -c ${runner(request)}`;
  if (request.as === 'login') return run;
  const free = sh`exec sudo -n -H /bin/sh -c ${run}`;
  const asked = sh`exec sudo -S -H -p ${markers.prompt(nonce)} /bin/sh -c ${run}`;
  const trouble = (kind: string, text: string): string =>
    `{ echo "${markers.trouble(nonce)}${kind} ${text}"; exit 126; }`;
  const parts = ['LC_ALL=C; export LC_ALL'];
  if (request.elevation === 'none') parts.push(run);
  else if (request.elevation === 'free') parts.push(free);
  else if (request.elevation === 'password') parts.push(asked);
  else {
    parts.push(
      `if [ "$(id -u)" = 0 ]; then ${run}; fi`,
      `command -v sudo >/dev/null 2>&1 || ${trouble('missing', '')}`,
      `if e=$(sudo -n /bin/sh -c : 2>&1 </dev/null); then ${free}; fi`,
      `case $e in *"must have a tty"*) ${trouble('tty', '$e')};; esac`,
      request.canAnswer ? asked : trouble('password', '$e'),
    );
  }
  return parts.join('\n');
}

/** Returns the program that the chosen user runs: sets the environment, reports ready, reads the script and runs it. */
function runner({ nonce, input }: BootRequest): string {
  const ready = markers.ready(nonce);
  return [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANG=C',
    'export PATH LC_ALL LANG',
    'unset ENV BASH_ENV CDPATH LANGUAGE',
    'umask 022',
    'cd /',
    `echo "${ready} \${SUDO_UID:+sudo}"`,
    `echo "${ready}" >&2`,
    'IFS= read -r s || exit 125',
    String.raw`s=$(printf %s "$s" | tr "\001" "\n"; echo .)`,
    `eval "\${s%.}"${input ? '' : ' </dev/null'}`,
  ].join('\n');
}

/** Maximum characters of a preamble that are kept, for the error if nothing runs. */
const kept = 64 * 1024;
/** Maximum bytes of a preamble. */
export const longestPreamble = 4 * 1024 * 1024;
/** Maximum characters of the ready line. */
const longestReady = 256;

/** Text of a stream before the script's output: banners, output of .bashrc, prompts, and last the ready line. */
export class Preamble {
  /** Number of password prompts so far. */
  prompts = 0;
  /** Bytes so far. */
  size = 0;
  readonly #ready: string;
  readonly #prompt: string;
  #text = '';
  /** The end of the text, which may contain the start of a mark. */
  #readyTail = '';
  #promptTail = '';

  constructor(nonce: string) {
    this.#ready = markers.ready(nonce);
    this.#prompt = markers.prompt(nonce);
  }

  /** Returns its last part, one character a byte. */
  get text(): string {
    return this.#text.slice(-kept);
  }

  /** Returns the mode of the ready line and the bytes after it; undefined before it arrives. Scans each byte once. */
  push(chunk: Buffer): { readonly mode: string; readonly rest: Buffer } | undefined {
    const text = chunk.toString('latin1');
    this.size += text.length;
    this.#text += text;
    if (this.#text.length > 2 * kept) this.#text = this.text;
    this.#countPrompts(text);
    const recent = this.#readyTail + text;
    const at = recent.indexOf(this.#ready);
    const from = at + this.#ready.length;
    const end = at === -1 ? -1 : recent.indexOf('\n', from);
    if (end !== -1) {
      return { mode: recent.slice(from, end).trim(), rest: Buffer.from(recent.slice(end + 1), 'latin1') };
    }
    this.#readyTail = at === -1 ? recent.slice(1 - this.#ready.length) : recent.slice(at, at + longestReady);
    return undefined;
  }

  #countPrompts(text: string): void {
    const recent = this.#promptTail + text;
    this.prompts += recent.split(this.#prompt).length - 1;
    this.#promptTail = recent.slice(1 - this.#prompt.length);
  }
}
