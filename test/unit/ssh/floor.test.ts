import { expect, test } from 'vitest';

import { Conversation, Floor, HungUp } from '../../../src/ssh/floor.ts';

test('two questions of one host are not parted by another host, which hangs up and comes back in its turn', async () => {
  const floor = new Floor();
  const asked: string[] = [];
  const hangUps: string[] = [];
  const login = async (host: string): Promise<void> => {
    const conversation = new Conversation(floor);
    for (;;) {
      try {
        for (const question of ['password', 'code']) {
          conversation.begin();
          asked.push(`${host} ${question}`);
          await Promise.resolve();
        }
        return conversation.end();
      } catch (error) {
        if (!(error instanceof HungUp)) throw error;
        hangUps.push(host);
      }
      await conversation.wait();
    }
  };
  await Promise.all(['a', 'b', 'c'].map(login));
  expect(asked).toEqual(['a password', 'a code', 'b password', 'b code', 'c password', 'c code']);
  expect(hangUps).toEqual(['b', 'c']);
});

test('a host that fails while others wait hands the floor on', async () => {
  const floor = new Floor();
  const [first, second] = [new Conversation(floor), new Conversation(floor)];
  first.begin();
  const turn = second.wait();
  first.end();
  await turn;
  expect(() => second.begin()).not.toThrow();
  second.end();
  expect(floor.take()).toBe(true);
});

test('a jump host asks at once: the host that has the floor may be waiting for it', () => {
  const floor = new Floor();
  new Conversation(floor).begin();
  const hop = new Conversation(undefined);
  expect(() => hop.begin()).not.toThrow();
});
