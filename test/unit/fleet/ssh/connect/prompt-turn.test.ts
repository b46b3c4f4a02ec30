import { expect, test } from 'vitest';

import { PromptTurn, PromptQueue, HungUp } from '../../../../../src/fleet/ssh/connect/prompt-turn.ts';

test('two questions of one host are not parted by another host, which hangs up and comes back in its turn', async () => {
  const queue = new PromptQueue();
  const asked: string[] = [];
  const hangUps: string[] = [];
  const login = async (host: string): Promise<void> => {
    const turn = new PromptTurn(queue);
    for (;;) {
      try {
        for (const question of ['password', 'code']) {
          turn.begin();
          asked.push(`${host} ${question}`);
          await Promise.resolve();
        }
        return turn.end();
      } catch (error) {
        if (!(error instanceof HungUp)) throw error;
        hangUps.push(host);
      }
      await turn.wait();
    }
  };
  await Promise.all(['a', 'b', 'c'].map(login));
  expect(asked).toEqual(['a password', 'a code', 'b password', 'b code', 'c password', 'c code']);
  expect(hangUps).toEqual(['b', 'c']);
});

test('a host that fails while others wait hands the queue on', async () => {
  const queue = new PromptQueue();
  const [first, second] = [new PromptTurn(queue), new PromptTurn(queue)];
  first.begin();
  const turn = second.wait();
  first.end();
  await turn;
  expect(() => second.begin()).not.toThrow();
  second.end();
  expect(queue.take()).toBe(true);
});

test('a jump host asks at once: the host that has the queue may be waiting for it', () => {
  const queue = new PromptQueue();
  new PromptTurn(queue).begin();
  const hop = new PromptTurn(undefined);
  expect(() => hop.begin()).not.toThrow();
});
