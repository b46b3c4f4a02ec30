import { isJoiner, isStacked, isUnseen } from './unseen.ts';

/** A control sequence ends somewhere: what goes on for longer than this is text. */
const longestSequence = 64;
/** The same for titles, links, images and other strings that a terminal takes in. */
const longestString = 4096;
const tabStop = 8;
/** Marks on one character; scripts and emoji have five or six. */
const mostStacked = 8;

const escapeCode = '\u001b';
const breaks = new Set(['\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029']);
/** After ESC these begin a string for the terminal: DCS, SOS, OSC, PM, APC. */
const stringStarts = new Set(['P', 'X', ']', '^', '_']);
/** BEL, CAN, SUB and ST end it; a line break does too, so that nobody hides the lines that follow. */
const stringEnds = new Set(['\u0007', '\u0018', '\u001a', '\u009c']);

/** What a joiner can belong to. Behind a letter of ASCII it would make two names look the same. */
const joinable = /^[\P{ASCII}0-9#*]$/u;

type Mode = 'text' | 'escape' | 'intermediate' | 'sequence' | 'string' | 'string-escape';

/**
 * Reads foreign text as a terminal would and keeps what is only text. `line`: breaks and tabs are one space, none at
 * either end; `lines`: breaks are `\n`. C1 controls are dropped alone, without what they would lead: they mostly are
 * UTF-8 that was encoded twice, and a broken ß must not eat its line.
 */
export class ForeignScanner {
  readonly #form: 'line' | 'lines';
  #mode: Mode = 'text';
  /** Characters that the present sequence may still have. */
  #left = 0;
  #out = '';
  #column = 0;
  /** `line`: a space is due before the next character. */
  #gap = false;
  #begun = false;
  #afterReturn = false;
  #joinable = false;
  /** Marks on the last character. */
  #stack = 0;
  /** The first half of a character that the chunk's end has cut. */
  #half = '';

  constructor(form: 'line' | 'lines') {
    this.#form = form;
  }

  /** What can be shown of it now. */
  push(chunk: string): string {
    const text = this.#half + chunk;
    const open = text.charCodeAt(text.length - 1) >> 10 === 0xd800 >> 10;
    this.#half = open ? text.slice(-1) : '';
    this.#out = '';
    for (const character of open ? text.slice(0, -1) : text) this.#take(character);
    return this.#out;
  }

  /** The rest, at the end of the stream. */
  end(): string {
    this.#out = '';
    if (this.#half !== '') this.#take(this.#half);
    this.#half = '';
    return this.#out;
  }

  #take(character: string): void {
    switch (this.#mode) {
      case 'escape':
        return this.#afterEscape(character);
      case 'intermediate':
        return this.#afterIntermediate(character);
      case 'sequence':
        return this.#inSequence(character);
      case 'string':
        return this.#inString(character);
      case 'string-escape':
        this.#mode = character === '\\' ? 'text' : 'escape';
        return character === '\\' ? undefined : this.#take(character);
      default:
        return this.#text(character);
    }
  }

  #afterEscape(character: string): void {
    if (character === '[') return this.#begin('sequence', longestSequence);
    if (stringStarts.has(character)) return this.#begin('string', longestString);
    return this.#afterIntermediate(character);
  }

  /** `ESC c` has two characters, `ESC ( B` three. */
  #afterIntermediate(character: string): void {
    this.#mode = character >= ' ' && character <= '/' ? 'intermediate' : 'text';
    if (character < ' ' || character > '~') this.#take(character);
  }

  #begin(mode: Mode, left: number): void {
    this.#mode = mode;
    this.#left = left;
  }

  #inSequence(character: string): void {
    if (character >= ' ' && character <= '?' && this.#left > 0) {
      this.#left -= 1;
      return;
    }
    this.#mode = 'text';
    if (character < '@' || character > '~') this.#take(character);
  }

  #inString(character: string): void {
    if (character === escapeCode) {
      this.#mode = 'string-escape';
      return;
    }
    const over = this.#left === 0 || breaks.has(character);
    if (over || stringEnds.has(character)) this.#mode = 'text';
    this.#left -= 1;
    if (over) this.#take(character);
  }

  #text(character: string): void {
    const { length } = character;
    const code = character.charCodeAt(0);
    if (code >= 0x20 && code < 0x7f) return this.#keep(character);
    if (character === escapeCode) {
      this.#mode = 'escape';
    } else if (breaks.has(character)) {
      this.#break(character);
    } else if (character === '\t') {
      if (this.#form === 'line') this.#space();
      else this.#keep(' '.repeat(tabStop - (this.#column % tabStop)));
    } else if (code < 0xa0) {
      return;
    } else if (length === 1 && code >= 0xd800 && code < 0xe000) {
      this.#keep('\ufffd');
    } else if (isStacked(character)) {
      if (this.#stack < mostStacked && (!isJoiner(character) || this.#joinable)) this.#stackUp(character);
    } else if (!isUnseen(character)) {
      this.#keep(character);
    }
  }

  #stackUp(mark: string): void {
    const stack = this.#stack + 1;
    this.#keep(mark);
    this.#stack = stack;
  }

  #break(character: string): void {
    const second = this.#afterReturn && character === '\n';
    if (this.#form === 'line') this.#space();
    else if (!second) {
      this.#keep('\n');
      this.#column = 0;
    }
    this.#afterReturn = character === '\r';
  }

  #space(): void {
    this.#gap = true;
    this.#joinable = false;
  }

  #keep(text: string): void {
    if (this.#gap && this.#begun) this.#out += ' ';
    this.#gap = false;
    this.#stack = 0;
    this.#begun = true;
    this.#afterReturn = false;
    this.#out += text;
    this.#column += text.startsWith(' ') ? text.length : 1;
    this.#joinable = joinable.test(text);
  }
}
