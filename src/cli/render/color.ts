import { styleText } from 'node:util';

/** Returns whether to use color: on terminals, unless the user disabled it (https://no-color.org). */
export function usesColor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** Returns a function that styles text for a stream, or leaves it plain. */
export function painter(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  return usesColor(stream, env)
    ? (style, text) => styleText(style, text, { validateStream: false })
    : (_, text) => text;
}
