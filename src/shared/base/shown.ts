import { escapeHidden } from './unseen.ts';

const longest = 72;

/** A piece of a file as a message quotes it: what cannot be seen is escaped, so that it can be found and taken out. */
export function shown(text: string): string {
  const plain = escapeHidden(text).replaceAll('\n', '\\u000a').replaceAll('\t', '\\u0009');
  return plain.length <= longest ? plain : `${plain.slice(0, longest)}…`;
}
