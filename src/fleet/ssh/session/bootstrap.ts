import { Raw, sh } from '../../../shared/base/shell.ts';

/**
 * The command of an exec. All login shells (sh, bash, csh, fish, zsh) read it alike: no quote inside the quotes,
 * no backslash, no `!`, no newline. It decides who runs the script and takes it from standard input, where ps
 * does not show it, as one line: `read` takes exactly that, and what follows stays for the script. (To send the
 * decision by standard input too would cost a round trip where sudo asks for a password.)
 */
export function bootCommand(request: BootRequest): string {
  const program = Buffer.from(bootProgram(request)).toString('base64');
  return `exec /bin/sh -c 'eval "$(echo ${program} | base64 -d)"'`;
}

/** How a script becomes root. `unknown`: the host decides in the same exec. */
export type Elevation = 'unknown' | 'none' | 'free' | 'password';

export interface BootRequest {
  /** Random; marks what is ours in the output. */
  readonly nonce: string;
  readonly as: 'root' | 'login';
  readonly elevation: Elevation;
  /** A password could be given if one is asked for. */
  readonly canAnswer: boolean;
  /** Seconds after which `timeout` ends the script on the host, whatever became of us; undefined: never. */
  readonly limitS: number | undefined;
  /** Standard input after the script belongs to the script; otherwise it has none. */
  readonly input: boolean;
}

/** Lines that the host says before the script runs. */
export const markers = {
  ready: (nonce: string): string => `@${nonce} ready`,
  prompt: (nonce: string): string => `@${nonce} password:`,
  trouble: (nonce: string): string => `@${nonce} sudo `,
};

/** Newlines of a script are sent as this, so that the script is one line of standard input. */
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

/** What runs in the end, as whom it should: fixes the environment, says so, takes the script and runs it. */
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

/** Characters of it that are kept, to report why nothing ran. */
const kept = 64 * 1024;
/** Bytes of it that are read at all. */
export const longestPreamble = 4 * 1024 * 1024;
/** Characters of the line by which a host says that it is ready. */
const longestReady = 256;

/** What a stream says before the script's own output: banners, a talkative .bashrc, prompts, and last the ready line. */
export class Preamble {
  /** How often the prompt for the password has come. */
  prompts = 0;
  /** Bytes so far. */
  size = 0;
  readonly #ready: string;
  readonly #prompt: string;
  #text = '';
  /** The end of what came, in which a mark may have begun. */
  #readyTail = '';
  #promptTail = '';

  constructor(nonce: string) {
    this.#ready = markers.ready(nonce);
    this.#prompt = markers.prompt(nonce);
  }

  /** Its last part, one character a byte. */
  get text(): string {
    return this.#text.slice(-kept);
  }

  /** The word of the ready line and what came behind it; undefined: it has not come yet. Each byte is looked at once. */
  push(chunk: Buffer): { readonly mode: string; readonly rest: Buffer } | undefined {
    const said = chunk.toString('latin1');
    this.size += said.length;
    this.#text += said;
    if (this.#text.length > 2 * kept) this.#text = this.text;
    this.#countPrompts(said);
    const recent = this.#readyTail + said;
    const at = recent.indexOf(this.#ready);
    const from = at + this.#ready.length;
    const end = at === -1 ? -1 : recent.indexOf('\n', from);
    if (end !== -1) {
      return { mode: recent.slice(from, end).trim(), rest: Buffer.from(recent.slice(end + 1), 'latin1') };
    }
    this.#readyTail = at === -1 ? recent.slice(1 - this.#ready.length) : recent.slice(at, at + longestReady);
    return undefined;
  }

  #countPrompts(said: string): void {
    const recent = this.#promptTail + said;
    this.prompts += recent.split(this.#prompt).length - 1;
    this.#promptTail = recent.slice(1 - this.#prompt.length);
  }
}
