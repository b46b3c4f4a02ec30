import { createServer } from 'node:net';

import { sshKeyPair } from './ssh-key.ts';

/** An agent of ssh that holds one key, under this comment, and signs nothing. */
export async function hostileAgent(socket: string, comment: string): Promise<{ close(): void }> {
  const [, blob = ''] = sshKeyPair().public.split(' ');
  const text = (bytes: Buffer): Buffer => Buffer.concat([number(bytes.length), bytes]);
  const answers = new Map([
    [
      11,
      Buffer.concat([
        Buffer.of(12),
        number(1),
        text(Buffer.from(blob, 'base64')),
        text(Buffer.from(comment)),
      ]),
    ],
  ]);
  const server = createServer((client) => {
    client.on('error', () => undefined);
    // Requests to an agent are short: each arrives in one piece.
    client.on('data', (asked) => client.write(text(answers.get(asked[4] ?? 0) ?? Buffer.of(5))));
  });
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  return { close: () => void server.close() };
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
