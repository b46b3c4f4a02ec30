import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateAgentKey } from '../../../src/shared/azure/keys.ts';
import { sha256 } from '../../../src/shared/base/digest.ts';
import { newAgent } from '../practice/azure/server.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; see manager-rig.ts.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const names = (): string[] => [...rig.docker.containers.values()].map(({ name }) => name).sort();

describe('faults', () => {
  test('an agent that fails at once is retried with growing pauses, and the status shows why', async () => {
    rig.docker.onStart = ({ id }) => {
      rig.docker.say(id, 'A session for this agent already exists.');
      rig.docker.end(id, 1);
    };
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('backing-off', ['0']);
    expect(await rig.slot('0')).toMatchObject({ cause: 'the server still holds a session of this agent' });
    rig.docker.onStart = (container) => rig.listen(container);
    await rig.until('idle', ['0']);
    expect((await rig.slot('0')).cause).toBeUndefined();
  });

  fault('name-held', 'a name of another owner is taken over only after `adopt`', async () => {
    await rig.azure.createAgent(rig.poolId, newAgent('box-0', await generateAgentKey()));
    await rig.start();
    await rig.until('backing-off', ['0']);
    await rig.until('idle', ['1']);
    expect(await rig.slot('0')).toMatchObject({
      code: 'agent.name-held',
      cause: expect.stringContaining('was not registered by azp-fleet') as string,
    });
    await expect(rig.post('/v1/adopt', { slots: ['7'] })).rejects.toMatchObject({
      problem: { what: expect.stringContaining('there is no slot 7') as string },
    });
    await rig.post('/v1/adopt', { slots: ['0'] });
    await rig.until('idle');
  });

  test('names adopted one after the other are all taken over', async () => {
    for (const name of ['box-0', 'box-1'])
      await rig.azure.createAgent(rig.poolId, newAgent(name, await generateAgentKey()));
    await rig.start();
    await rig.until('backing-off');
    await rig.post('/v1/drain', {});
    await rig.post('/v1/adopt', { slots: ['0'] });
    await rig.post('/v1/adopt', { slots: ['1'] });
    await rig.post('/v1/undrain', {});
    await rig.until('idle');
  });

  fault(
    'token-refused',
    'a rejected credential stops launches, not agents, and a new one is used',
    async () => {
      await rig.start();
      await rig.until('idle');
      await rig.control.setToken('expired');
      await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('azure.auth');
      expect(names()).toEqual(['box-0', 'box-1']);
      await rig.control.setToken('valid');
      await expect.poll(async () => (await rig.status()).problems.length).toBe(0);
    },
  );

  test('a replaced token is used and reported within seconds; jobs and agents continue', async () => {
    await rig.start();
    await rig.until('idle');
    const accepted = async () => (await rig.status()).token?.accepted;
    expect(await accepted()).toBe(sha256('machine-1:good-token'));
    rig.beginJob('box-0');
    await expect.poll(async () => (await rig.slot('0')).state).toBe('busy');
    const before = names();
    writeFileSync(join(rig.docker.directory, 'accepted'), 'good-token\nnext-token\n');
    writeFileSync(rig.tokenFile, 'next-token\n');
    await expect.poll(accepted).toBe(sha256('machine-1:next-token'));
    // The old one is revoked.
    writeFileSync(join(rig.docker.directory, 'accepted'), 'next-token\n');
    expect((await rig.slot('0')).state).toBe('busy');
    expect(names()).toEqual(before);
    rig.endJob('box-0');
    await rig.until('idle');
    expect((await rig.status()).problems).toEqual([]);
  });

  test('a missing pool is reported, and found once it exists', async () => {
    await rig.start({ pool: 'typo' });
    await expect
      .poll(async () => (await rig.status().catch(() => undefined))?.problems[0]?.code)
      .toBe('pool.missing');
    await rig.until('waiting');
    await expect.poll(async () => (await rig.slot('0')).code).toBe('pool.missing');
    await rig.azure.ensurePool('typo');
    await rig.until('idle');
  });

  test('with an empty dataset folder the slot runs no jobs', async () => {
    const host = join(rig.directory, 'data');
    mkdirSync(host);
    await rig.start({ datasets: [{ name: 'DATA', host, container: '/data', requireMount: false }] });
    await rig.until('waiting');
    await expect.poll(async () => (await rig.slot('0')).cause).toBe(`dataset DATA: ${host} is empty`);
    mkdirSync(join(host, 'x'));
    await rig.until('idle');
    expect(rig.docker.get('box-0')?.body.HostConfig?.['Mounts']).toMatchObject([
      { Type: 'bind', Source: host, Target: '/data', ReadOnly: true },
    ]);
  });
});

describe('images', () => {
  test('a new image is tried on one idle slot, then rolled to the others; busy ones finish first', async () => {
    await rig.start({ agents: { kind: 'count', count: 3 } });
    await rig.until('idle', ['0', '1', '2']);
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    await rig.stop();
    const next = rig.docker.addImage('registry.example/agent:2');
    await rig.start({
      agents: { kind: 'count', count: 3 },
      image: { kind: 'registry', reference: 'registry.example/agent:2' },
    });
    const image = (name: string): string | undefined => rig.docker.get(name)?.body.Image;
    await expect.poll(() => [image('box-1'), image('box-2')]).toEqual([next.id, next.id]);
    expect(image('box-0')).not.toBe(next.id);
    rig.endJob('box-0');
    await expect.poll(() => image('box-0')).toBe(next.id);
  });

  test('a slot whose name another installation holds does not keep its idle neighbour from a new image', async () => {
    await rig.azure.createAgent(rig.poolId, newAgent('box-0', await generateAgentKey()));
    await rig.start();
    await rig.until('idle', ['1']);
    await rig.stop();
    const next = rig.docker.addImage('registry.example/agent:2');
    await rig.start({ image: { kind: 'registry', reference: 'registry.example/agent:2' } });
    await expect.poll(() => rig.docker.get('box-1')?.body.Image).toBe(next.id);
    await rig.until('idle', ['1']);
    expect((await rig.slot('0')).code).toBe('agent.name-held');
  });

  fault(
    'image-fails',
    'an image that crash-loops is rolled back, while other slots keep working',
    async () => {
      const good = rig.docker.images[0]?.id;
      await rig.start({ agents: { kind: 'count', count: 3 } });
      await rig.until('idle', ['0', '1', '2']);
      await rig.stop();
      const bad = rig.docker.addImage('registry.example/agent:bad');
      const crashed = new Set<string>();
      rig.docker.onStart = (container) => {
        if (container.body.Image !== bad.id) return rig.listen(container);
        crashed.add(container.name);
        rig.docker.end(container.id, 127);
      };
      await rig.start({
        agents: { kind: 'count', count: 3 },
        image: { kind: 'registry', reference: 'registry.example/agent:bad' },
      });
      await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('image.rejected');
      await rig.until('idle', ['0', '1', '2']);
      expect([...rig.docker.containers.values()].map(({ body }) => body.Image)).toEqual([good, good, good]);
      expect(crashed.size).toBe(1);
    },
  );

  test.each([
    ['sessions that are left on the server', 'A session for this agent already exists.', 1],
    ['a SIGKILL', '', 137],
  ])('an image is not rejected for %s', async (_, line, code) => {
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    await rig.stop();
    const next = rig.docker.addImage('registry.example/agent:2');
    let crashes = 0;
    rig.docker.onStart = (container) => {
      if (container.body.Image !== next.id || crashes >= 5) return rig.listen(container);
      crashes += 1;
      if (line !== '') rig.docker.say(container.id, line);
      rig.docker.end(container.id, code);
    };
    await rig.start({
      agents: { kind: 'count', count: 1 },
      image: { kind: 'registry', reference: 'registry.example/agent:2' },
    });
    await expect.poll(() => crashes).toBe(5);
    await rig.until('idle', ['0']);
    expect((await rig.status()).problems).toEqual([]);
    expect(rig.docker.get('box-0')?.body.Image).toBe(next.id);
  });

  test('a rejected image is tried again when a user requests it', async () => {
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    await rig.stop();
    const next = rig.docker.addImage('registry.example/agent:2');
    let isBroken = true;
    rig.docker.onStart = (container) => {
      if (container.body.Image === next.id && isBroken) rig.docker.end(container.id, 127);
      else rig.listen(container);
    };
    await rig.start({
      agents: { kind: 'count', count: 1 },
      image: { kind: 'registry', reference: 'registry.example/agent:2' },
    });
    await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('image.rejected');
    isBroken = false;
    await rig.post('/v1/image', { fresh: false });
    await expect.poll(async () => (await rig.status()).problems).toEqual([]);
    await expect.poll(() => rig.docker.get('box-0')?.body.Image).toBe(next.id);
  });

  test('a missing image is pulled before the first launch', async () => {
    await rig.start({ image: { kind: 'registry', reference: 'registry.example/agent:new' } });
    await rig.until('idle');
    expect((await rig.status()).image).toMatchObject({
      state: 'ready',
      reference: 'registry.example/agent:new',
    });
  });
});
