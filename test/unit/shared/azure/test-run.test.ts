import { beforeAll, expect, test } from 'vitest';

import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { createTestPipeline } from '../../../../src/shared/azure/test-run.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();

function pipeline() {
  return createTestPipeline({
    organization: fake.server.organization,
    credential: patCredential(new Secret('good-token')),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: systemClock(10_000),
  });
}

beforeAll(async () => {
  await fake.client().ensurePool('gpu-lab');
  await fake.control.makeAgents({ pool: 'gpu-lab', count: 1 });
  await fake.control.addPipeline({ id: 7, title: 'gpu check', project: 'vision', pool: 'gpu-lab' });
});

test('a run starts in the project of the pipeline, and is followed to its end', async () => {
  expect(await pipeline().start('two words', 7)).toBeUndefined();
  const run = await pipeline().start('vision', 7);
  if (run === undefined) throw new Error('the pipeline is missing');
  expect(run.url).toContain(`_build/results?buildId=${run.id}`);
  expect(await pipeline().wait('vision', 7, run, 10_000)).not.toHaveProperty('result');
  const [job] = await fake.control.jobs();
  await fake.control.cancel(job?.id ?? 0);
  expect(await pipeline().wait('vision', 7, run, 60_000)).toMatchObject({ id: run.id, result: 'canceled' });
});

test('a token without the scope gets an error that names the scope', async () => {
  await fake.control.fail({ count: 1, path: 'runs', status: 403 });
  await expect(pipeline().start('vision', 7)).rejects.toMatchObject({
    problem: { code: 'azure.permission', next: expect.stringContaining('Build (Read & execute)') },
  });
});
