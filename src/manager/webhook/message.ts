import { defined } from '../../shared/base/objects.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { withHost } from '../../shared/health/findings.ts';
import { type Sender, webhookBody } from '../../shared/webhook/message.ts';
import type { Episode } from './episodes.ts';

const longestCause = 400;

/** Returns the body of a message on what has begun and ended. Pure. */
export function changeMessage(
  changes: { readonly begun: readonly Episode[]; readonly ended: readonly Episode[] },
  sender: Sender,
): string {
  const named = (all: readonly Episode[]) => all.map((each) => withHost(each, sender.host));
  const [begun, ended] = [named(changes.begun), named(changes.ended)];
  const lines = [...groupAlike(begun).map(begunLine), ...groupAlike(ended).map(endedLine)];
  const events = [
    ...begun.map((episode) => ({ state: 'begun', ...shown(episode) })),
    ...ended.map((episode) => ({ state: 'ended', ...shown(episode) })),
  ];
  return webhookBody(lines, events, sender);
}

/** Returns the body of a test message. */
export function testMessage(sender: Sender): string {
  return webhookBody(['this is a test of the webhook; nothing has happened'], [{ event: 'test' }], sender);
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
