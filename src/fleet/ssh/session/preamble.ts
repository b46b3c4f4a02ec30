import { markers } from './bootstrap.ts';

/** Characters of it that are kept, to tell why nothing ran. */
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
