import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { wrapNext } from '../../../../../src/cli/render/lines.ts';

const lines = (text: string, width = 40) => wrapNext(text, width, 4).map((line) => line.replace(/^ {4}/, ''));

describe('a command stays pasteable', () => {
  test.each<[string, string, string[]]>([
    ['that fits', 'chmod 600 /home/ann/token', ['chmod 600 /home/ann/token']],
    [
      'after words: on a separate line',
      'write it there and press Ctrl-D: (umask 077; cat > /home/ann/t)',
      ['write it there and press Ctrl-D:', '(umask 077; cat > /home/ann/t)'],
    ],
    [
      'that is too long: continued with backslashes',
      'ssh-copy-id -i /home/ann/.ssh/id_ed25519 -p 2222 ann@192.0.2.7',
      ['ssh-copy-id -i \\', '/home/ann/.ssh/id_ed25519 -p 2222 \\', 'ann@192.0.2.7'],
    ],
    [
      'with a comment of several lines',
      'ssh-add /home/ann/.ssh/id   # or run this at a terminal, to be asked for it',
      ['ssh-add /home/ann/.ssh/id', '# or run this at a terminal, to be', '# asked for it'],
    ],
    [
      'with words after it',
      'sudo snap remove --purge docker (its images go, too), then run again',
      ['sudo snap remove --purge docker', '(its images go, too), then run again'],
    ],
    [
      'or the text contains none',
      'check the host, and run the same command again',
      ['check the host, and run the same', 'command again'],
    ],
  ])('%s', (_, text, expected) => {
    expect(lines(text)).toEqual(expected);
  });

  test('and does the same in a shell at any width', () => {
    const word = fc.stringMatching(/^[a-z0-9/._-]{1,12}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 24, max: 80 }),
        (words, width) => {
          const text = `echo 'x' ${words.join(' ')}   # as root on the host, where there is none`;
          const shown = wrapNext(text, width, 4);
          for (const line of shown)
            if (line.trim().includes(' ')) expect(line.length).toBeLessThanOrEqual(width);
          expect(execFileSync('/bin/sh', ['-c', shown.join('\n')], { encoding: 'utf8' })).toBe(
            `x ${words.join(' ')}\n`,
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});
