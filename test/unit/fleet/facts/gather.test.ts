import { expect, test } from 'vitest';

import { gatherFacts } from '../../../../src/fleet/facts/gather.ts';
import { probes } from '../../../../src/fleet/facts/parse.ts';
import type { Session } from '../../../../src/fleet/ssh/transport.ts';
import { frameScript } from '../../../../src/fleet/ssh/session/frames.ts';
import { spawnSync } from 'node:child_process';

/** Returns a session of a host with this output of the GPU probe. */
function hostWith(gpus: string): Pick<Session, 'script'> {
  const found: Record<string, string> = { os: 'ID=debian\n', machine: 'arch x86_64\n', gpus };
  const script = frameScript(
    probes.map(({ name }) => ({ name, script: `printf '%s\\nend\\n' '${found[name] ?? ''}'` })),
  );
  const { stdout } = spawnSync('/bin/sh', { input: script, encoding: 'utf8' });
  return { script: () => Promise.resolve({ code: 0, stdout, stderr: '' }) } as unknown as Session;
}

test('ignored display cards are not in the GPUs of the host', async () => {
  const session = hostWith('gpu 0000:03:00.0 128b nouveau\ngpu 0000:83:00.0 2684 \n') as Session;
  const host = { name: 'a', ignoredGpus: ['10de:128b'] };
  const facts = await gatherFacts(session, host, { prefix: '' });
  expect(facts.gpus.map(({ address }) => address)).toEqual(['0000:83:00.0']);
  expect(facts.ignoredGpus.map(({ address }) => address)).toEqual(['0000:03:00.0']);
  expect((await gatherFacts(session, { name: 'a' }, { prefix: '' })).gpus.length).toBe(2);
});
