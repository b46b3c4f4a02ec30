const longest = 72;

/** Text of somebody else as it may stand in a message: without control characters, cut where it is long. */
export function shown(text: string): string {
  const plain = text.replaceAll(/\p{Cc}/gu, escape);
  return plain.length <= longest ? plain : `${plain.slice(0, longest)}…`;
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
