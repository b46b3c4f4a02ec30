import { escapeHidden } from './unseen.ts';

/** The styles that src/cli/render paints with: weight and colours, each alone. */
const ownStyle = /(\u001b\[(?:[012]|22|3[0-7]|39|9[0-7])m)/;
/** The end of a chunk that may be the beginning of one. */
const cutStyle = /\u001b(?:\[\d{0,2})?$/;

/**
 * The last net before a terminal: of all that a terminal obeys only line feeds, tabs and our own styles pass; the rest is
 * escaped. What others say is cleaned where it comes in; whatever slips through there ends here.
 */
export class OutputNet {
  #held = '';

  /** What may be written now. */
  push(chunk: string): string {
    const text = this.#held + chunk;
    this.#held = cutStyle.exec(text)?.[0] ?? '';
    return netted(text.slice(0, text.length - this.#held.length));
  }

  /** The rest, at the end of the stream. */
  end(): string {
    const rest = netted(this.#held);
    this.#held = '';
    return rest;
  }
}

function netted(text: string): string {
  return text
    .split(ownStyle)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join('');
}
