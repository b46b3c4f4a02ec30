import { Writable } from 'node:stream';

import { expect, test } from 'vitest';

import { Redactor } from '../../../../src/shared/base/redact.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { guardOutput } from '../../../../src/shared/base/terminal-output.ts';

function screen(): { readonly stream: NodeJS.WriteStream; readonly text: () => string } {
  let text = '';
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => text };
}

test('a secret does not reach the screen, also in two pieces', () => {
  const redactor = new Redactor();
  redactor.add(new Secret('open sesame'));
  const { stream, text } = screen();
  const { finish } = guardOutput(stream, redactor);
  stream.write('password: open sesame\n');
  stream.write('again: open ses');
  stream.write(Buffer.from('ame, and open'));
  finish();
  expect(text()).toBe('password: ***\nagain: ***, and open');
});

test('a pipe without a reader is not an error, and a full disk is one', () => {
  const { stream } = screen();
  const { failure } = guardOutput(stream, new Redactor());
  for (const code of ['EPIPE', 'EIO'])
    expect(stream.emit('error', Object.assign(new Error(`write ${code}`), { code }))).toBe(true);
  expect(failure()).toBeUndefined();
  stream.emit('error', new Error('disk full'));
  stream.emit('error', new Error('later'));
  expect(failure()?.message).toBe('disk full');
});
