// The fake server stops and starts again with its state file, as an updated service does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { createAzureClient } from '../../../../src/shared/azure/create-client.ts';
import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { fakeControl } from '../../../../practice/azure/control/control.ts';
import { startFake } from '../../../../practice/azure/start.ts';
import { agentFiles, generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { installAgent } from '../../../../practice/agent/pack.ts';
import { newAgent } from './server.ts';

test('an agent that was waiting goes on waiting, and takes the next job', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'azure-'));
  writeFileSync(join(folder, 'token'), 't');
  const clock = systemClock(100);
  const options = {
    host: '127.0.0.1',
    tokenFile: join(folder, 'token'),
    stateFile: join(folder, 'state.json'),
    organization: 'lab',
    projects: ['vision'],
    clock,
  };
  // Below the ephemeral ports: no other process takes it before the server starts again.
  const port = 20_000 + (process.pid % 10_000);
  const first = await startFake({ ...options, port });
  const client = createAzureClient({
    organization: first.organization,
    credential: patCredential(new Secret('t')),
    log: silentLogger,
    signal: new AbortController().signal,
    clock,
  });
  const { pool } = await client.ensurePool('gpu');
  const key = await generateAgentKey();
  const agent = await client.createAgent(pool.id, newAgent('a-0', key));
  await installAgent(join(folder, 'agent'), '4.275.0');
  for (const { name, content } of agentFiles({ agent, pool, organization: first.organization, key })) {
    writeFileSync(join(folder, 'agent', name), content);
  }
  const listener = spawn(join(folder, 'agent/bin/Agent.Listener'), ['run', '--once'], {
    env: { PATH: process.env['PATH'] },
    stdio: 'ignore',
  });
  const exited = once(listener, 'exit');
  const control = fakeControl(first.origin);
  const timeoutMs = 180_000;
  await control.until((_, { pools }) => pools.some(({ agents }) => agents[0]?.status === 'online'), {
    timeoutMs,
  });
  await first.close();

  // A child that another test is just starting holds the old socket until it has become its own program.
  const second = await vi.waitFor(() => startFake({ ...options, port }), { timeout: 120_000 });
  const [job] = await control.queue({ pool: 'gpu', script: 'true' });
  expect(await exited).toEqual([0, null]);
  expect((await control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({ result: 'succeeded' });
  expect(await client.findAgent(pool.id, 'a-0')).toMatchObject({ id: agent.id });
  await second.close();
  rmSync(folder, { recursive: true });
});

test('an answer that fails after its beginning is cut off, and the server goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'azure-'));
  const [tokenFile, stateFile] = [join(folder, 'token'), join(folder, 'state.json')];
  writeFileSync(tokenFile, 't');
  const place = { host: '127.0.0.1', port: 0, organization: 'lab', projects: ['vision'] };
  const options = { ...place, tokenFile, stateFile, clock: systemClock(1) };
  const first = await startFake(options);
  await fakeControl(first.origin).queue({ pool: 'Default' });
  await first.close();
  // An invalid time: it cannot be written.
  writeFileSync(
    stateFile,
    readFileSync(stateFile, 'utf8').replace(/"queueTime":\s*\d+/u, '"queueTime":1e300'),
  );
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const second = await startFake(options);
  const headers = { authorization: `Basic ${Buffer.from(':t').toString('base64')}` };
  const get = async (path: string) => {
    const response = await fetch(`${second.organization}/_apis/${path}?api-version=7.1`, { headers });
    return { status: response.status, text: await response.text() };
  };
  await expect(get('distributedtask/pools/1/jobrequests')).rejects.toThrow(/terminated|fetch failed/u);
  expect(stderr).toHaveBeenCalledWith(expect.stringContaining('Invalid time value'));
  expect(await get('projects')).toMatchObject({ status: 200 });
  stderr.mockRestore();
  await second.close();
  rmSync(folder, { recursive: true });
});
