/** Characters that nobody sees but that make emoji and some scripts what they are: joiners, variants, tags. */
const joiners = String.raw`\u180b-\u180d\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}\u{e0100}-\u{e01ef}`;
/** Direction marks, zero-width spaces, fillers, soft hyphens: where a name or a command stands they only deceive. */
const unseen = String.raw`\p{Default_Ignorable_Code_Point}\ufff9-\ufffb`;

const isOneJoiner = new RegExp(`^[${joiners}]$`, 'u');
const stacked = new RegExp(String.raw`^[\p{Mn}\p{Me}${joiners}]$`, 'u');
const isOneUnseen = new RegExp(`^[${unseen}]$`, 'u');
/** What is unseen, what a terminal obeys, and breaks that only some programs know. */
const hidden = new RegExp(String.raw`(?![\n\t${joiners}])[\p{Cc}\u2028\u2029${unseen}]`, 'gu');

export function isJoiner(character: string): boolean {
  return isOneJoiner.test(character);
}

/** Stands on the character before it: an accent, a joiner. A stack of them paints over the lines above and below. */
export function isStacked(character: string): boolean {
  return stacked.test(character);
}

/** True of joiners too. */
export function isUnseen(character: string): boolean {
  return isOneUnseen.test(character);
}

/**
 * What is hidden, but for line feeds, tabs and joiners, as JSON writes it (`\u001b`): seen by people, and the same value
 * as before where it stands in a JSON document.
 */
export function escapeHidden(text: string): string {
  return text.replaceAll(hidden, escapeUnits);
}

function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** Text without control characters, and without line breaks that only some programs know: names have none. */
export const noControl = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/;

const controlInText = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/;

/** The first control character that is neither a line feed nor a tab, and where it is: `U+001B at character 3`. */
export function controlIn(text: string): string | undefined {
  const at = text.search(controlInText);
  if (at === -1) return undefined;
  return `U+${text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')} at character ${at + 1}`;
}
