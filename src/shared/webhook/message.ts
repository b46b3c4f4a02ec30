import { foreignLine, foreignLines, foreignValue } from '../base/foreign-text.ts';

/** Characters; Teams accepts 28 KB. */
const longestText = 4000;
/** Most entries of `events`; the text counts all. */
const mostEvents = 16;

/** The machine that sends a message, and the time (ISO 8601). */
export interface Sender {
  readonly host: string;
  readonly at: string;
}

/**
 * Returns the body of a message to a webhook: `text` for people, as Slack, Mattermost and Teams show it, and the same as `events` for
 * programs. Pure.
 */
export function webhookBody(
  lines: readonly string[],
  events: readonly object[],
  { host, at }: Sender,
): string {
  const text = lines.map((line) => withoutMarkup(`${host}: ${foreignLine(line)}`)).join('\n');
  const message = {
    text: foreignLines(text, longestText),
    schema: 1,
    host,
    at,
    events: events.slice(0, mostEvents),
  };
  return JSON.stringify(foreignValue(message, (said) => foreignLines(said)));
}

/**
 * Escapes chat markup. Causes quote foreign text, such as names of processes: `<!channel>` and `@all` would notify everyone,
 * and `<https://…|text>` would be a link with a false name.
 */
function withoutMarkup(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›').replaceAll('@', '(at)');
}
