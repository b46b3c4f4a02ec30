import { createCipheriv, randomBytes } from 'node:crypto';
import { nextId, type Fake } from './fake.ts';
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
