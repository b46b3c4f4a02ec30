import { expect, test } from 'vitest';

import type { ApplyTools } from '../../../../src/fleet/apply/apply-tools.ts';
import { planReached, reachHosts } from '../../../../src/fleet/apply/survey.ts';
import { gatherFacts } from '../../../../src/fleet/facts/gather.ts';
import { planHost, questionFor } from '../../../../src/fleet/plan/plan.ts';
import type { Session } from '../../../../src/fleet/ssh/transport.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { countLimit } from '../../../support/floor.ts';
import { factsOf } from '../../../support/host.ts';
import { afterwards } from '../steps/host-stack-plan.ts';
import { converged, defaults } from '../steps/manager/converged.ts';
import { FakeHost } from './fake-fleet.ts';

const row = 'plan without changes: scripts on a host';

const frames = ['os begin os\nID=debian', 'machine begin machine\narch x86_64']
  .map((text) => text.replace(/^\S+/, 'f'.repeat(24)))
  .map((text) => `\n${text}\n\nend\n\n${'f'.repeat(24)} end 0 1 1 5\n`)
  .join('');

const requests: readonly string[] = ['script', 'upload', 'durable', 'follow', 'socketAgent', 'lock'];

/** Returns a session that notes what it is asked for, and answers only the script of the facts. */
function noting(calls: string[]): Session {
  const answers: Partial<Session> = {
    host: 'h200-1',
    closed: new AbortController().signal,
    script: () =>
      Promise.resolve({ code: 0, stdout: `frames ${'f'.repeat(24)}\n${frames}`, stderr: '', durationMs: 1 }),
    close: () => Promise.resolve(),
  };
  return new Proxy(answers as Session, {
    get: (target, name: keyof Session) => {
      if (requests.includes(name)) calls.push(name);
      return target[name];
    },
  });
}

// One script costs three round trips after connecting, and one more where sudo asks for a password: test/lab/ssh-ways.test.ts.
test('a plan for a host that is up to date runs one script there', async () => {
  const options = { steps: allSteps, disturbOthers: false };
  const { files, manager } = converged();
  const stack = afterwards(factsOf(), defaults);
  const facts = { ...stack, files: { ...stack.files, ...files }, manager };
  const calls: string[] = [];
  const tools: ApplyTools = {
    ...new FakeHost([]).tools(),
    transport: { connect: () => Promise.resolve(noting(calls)), close: () => Promise.resolve() },
    gather: async (session, host) => {
      await gatherFacts(session, host, machineRoot);
      return facts;
    },
    plan: (seen, _host, answers) => planHost(seen, defaults, options, answers),
    question: (seen, _host, known) => questionFor(seen, defaults, options, known),
  };
  const { hosts, failures } = await planReached(
    await reachHosts([defaults.host], tools, { follow: false }),
    tools,
  );
  expect(failures).toEqual([]);
  expect(hosts.map(({ plan }) => plan.stages)).toEqual([[]]);
  expect(
    calls.length,
    `a plan without changes asks each host for ${calls.join(', ')}: each is three round trips on its link. Read it with the facts, ` +
      `or raise "${row}" in bench/floor.json, and say why in the commit`,
  ).toBeLessThanOrEqual(countLimit(row));
  expect(new Set(calls)).toEqual(new Set(['script']));
});
