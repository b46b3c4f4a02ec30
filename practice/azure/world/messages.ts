import { createCipheriv, randomBytes } from 'node:crypto';

import { type Fake, type Poll, nextId } from './fake.ts';
import type { FakeMessage, FakeSession } from './state.ts';

/** Message bodies are encrypted with the session's key, as the service does. */
export function send(
  fake: Fake,
  session: FakeSession,
  messageType: FakeMessage['messageType'],
  body: object,
): void {
  session.messages.push({ messageId: nextId(fake), messageType, body: JSON.stringify(body) });
}

export function encrypted(session: FakeSession, message: FakeMessage): object {
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', Buffer.from(session.key, 'base64'), iv);
  const body = Buffer.concat([cipher.update(message.body, 'utf8'), cipher.final()]).toString('base64');
  return { messageId: message.messageId, messageType: message.messageType, iv: iv.toString('base64'), body };
}

/** Returns the oldest message after `after`. */
export function messageAfter(session: FakeSession, after: number): FakeMessage | undefined {
  return session.messages.find(({ messageId }) => messageId > after);
}

/**
 * Waits until there is a message after this one, the session ends, the caller hangs up, or `ms` have passed. A session may
 * have several polls at once: agents keep theirs open by a second one beside the first.
 */
export function poll(
  fake: Fake,
  session: FakeSession,
  after: number,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<void> {
  if (messageAfter(session, after) !== undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const polls = fake.polls.get(session.id) ?? new Set<Poll>();
    const own: Poll = {
      after,
      wake: () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', own.wake);
        polls.delete(own);
        if (polls.size === 0 && fake.polls.get(session.id) === polls) fake.polls.delete(session.id);
        resolve();
      },
    };
    const timer = setTimeout(own.wake, ms);
    fake.polls.set(session.id, polls.add(own));
    signal.addEventListener('abort', own.wake, { once: true });
    if (signal.aborted) own.wake();
  });
}

/** Wakes the polls that have a new message. */
export function tellPolls(fake: Fake): void {
  for (const session of fake.state.sessions) {
    for (const each of fake.polls.get(session.id) ?? []) {
      if (messageAfter(session, each.after) !== undefined) each.wake();
    }
  }
}

/** Wakes every poll of a session that has ended. */
export function endPolls(fake: Fake, session: FakeSession): void {
  for (const each of fake.polls.get(session.id) ?? []) each.wake();
}
