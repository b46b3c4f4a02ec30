import { defined } from '../../shared/base/objects.ts';
import { foreignLine, foreignLines, foreignValue } from '../../shared/base/foreign-text.ts';
import type { Episode } from './episodes.ts';

/** Characters; Teams accepts 28 KB. */
const longestText = 4000;
const longestCause = 400;
/** Most entries of `events`; the text counts all. */
const mostEvents = 16;

/** The host that sends a message, and the time (ISO 8601). */
interface Sender {
  readonly host: string;
  readonly at: string;
}

/**
 * Returns the body of a message: `text` for people, as Slack, Mattermost and Teams show it, and the same as `events` for
 * programs. Pure.
 */
export function changeMessage(
  { begun, ended }: { readonly begun: readonly Episode[]; readonly ended: readonly Episode[] },
  sender: Sender,
): string {
  const lines = [...groupAlike(begun).map(begunLine), ...groupAlike(ended).map(endedLine)];
  const events = [
    ...begun.map((episode) => ({ state: 'begun', ...shown(episode) })),
    ...ended.map((episode) => ({ state: 'ended', ...shown(episode) })),
  ];
  return body(lines, events.slice(0, mostEvents), sender);
}

/** Returns the body of a test message. */
export function testMessage(sender: Sender): string {
  return body(['this is a test of the webhook; nothing has happened'], [{ event: 'test' }], sender);
}

function body(lines: readonly string[], events: readonly object[], { host, at }: Sender): string {
  const text = lines.map((line) => withoutMarkup(`${host}: ${foreignLine(line)}`)).join('\n');
  const message = { text: foreignLines(text, longestText), schema: 1, host, at, events };
  return JSON.stringify(foreignValue(message, (said) => foreignLines(said)));
}

function shown({ kind, since, slot, agent, pool, gpus, code, what, next }: Episode): object {
  const details = { code, what: foreignLine(what, longestCause), next };
  return { event: kind, since, ...defined({ slot, agent, pool, gpus }), ...details };
}

/** Groups episodes with the same cause: eight slots that are closed for one reason are one line. */
function groupAlike(episodes: readonly Episode[]): readonly (readonly [Episode, ...Episode[]])[] {
  const groups = Map.groupBy(episodes, ({ kind, pool, code, what }) =>
    JSON.stringify(kind === 'queue-wait' ? [kind, pool] : [kind, code, what]),
  );
  return [...groups.values()].flatMap(([first, ...rest]) => (first === undefined ? [] : [[first, ...rest]]));
}

function begunLine(group: readonly [Episode, ...Episode[]]): string {
  const [{ kind, pool, what, next }] = group;
  const heads = {
    'slot-closed': `${slots(group)} closed`,
    'agent-offline': `${agents(group)} offline`,
    'queue-wait': `jobs wait long for pool ${pool}`,
  };
  return `${heads[kind]}: ${foreignLine(what, longestCause)}. Next: ${next}`;
}

function endedLine(group: readonly [Episode, ...Episode[]]): string {
  const [{ kind, pool, since }] = group;
  const heads = {
    'slot-closed': `${slots(group)} open again`,
    'agent-offline': `${agents(group)} online again`,
    'queue-wait': `jobs no longer wait long for pool ${pool}`,
  };
  return `${heads[kind]} (since ${since})`;
}

function slots(group: readonly Episode[]): string {
  return counted(
    'slot',
    group.map(({ slot = '' }) => slot),
  );
}

function agents(group: readonly Episode[]): string {
  return counted(
    'agent',
    group.map(({ agent = '' }) => agent),
  );
}

/** `slot 3 is`, `slots 0, 1 and 6 more are`. */
function counted(noun: string, names: readonly string[]): string {
  const most = 8;
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  const list = `${names.slice(0, most).join(', ')}${more}`;
  return names.length === 1 ? `${noun} ${list} is` : `${noun}s ${list} are`;
}

/**
 * Escapes chat markup. Causes quote foreign text, such as names of processes: `<!channel>` and `@all` would notify everyone,
 * and `<https://…|text>` would be a link with a false name.
 */
function withoutMarkup(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›').replaceAll('@', '(at)');
}
