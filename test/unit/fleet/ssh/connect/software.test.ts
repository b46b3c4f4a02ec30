import { PassThrough } from 'node:stream';

import { expect, test } from 'vitest';

import { greetingOf } from '../../../../../src/fleet/ssh/connect/software.ts';

async function heard(...chunks: string[]) {
  const stream = new PassThrough();
  let read = '';
  stream.on('data', (chunk: Buffer) => (read += chunk.toString()));
  const greeting = greetingOf(stream);
  for (const chunk of chunks) stream.write(chunk);
  await new Promise((resolve) => void stream.end(resolve));
  return { ...greeting(), isRead: read === chunks.join(''), listeners: stream.listenerCount('data') };
}

test.each<[string, string[], string, number, string?]>([
  ['at once', ['SSH-2.0-dropbear_2022.83\r\n\u0000\u0001'], 'dropbear_2022.83', 1],
  ['with a comment', ['SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n'], 'OpenSSH_9.2p1', 1],
  ['in pieces', ['SSH-2', '.0-drop', 'bear_2024.86', '\r\n'], 'dropbear_2024.86', 1],
  ['after other lines', ['Welcome\r\nto SSH-2.0-nobody\r\n', 'SSH-2.0-some\n'], 'some', 1],
  ['never, and not for long', ['x'.repeat(9000), 'SSH-2.0-late\r\n'], '', 1, 'x'.repeat(200)],
  ['not yet', ['SSH-2.0-some'], '', 2],
  ['and is something else', ['HTTP/1.1 400 Bad Request\r\n\r\n'], '', 2, 'HTTP/1.1 400 Bad Request'],
])('a server says what it is %s', async (_, chunks, software, listeners, instead = '') => {
  expect(await heard(...chunks)).toEqual({ software, instead, isRead: true, listeners });
});
