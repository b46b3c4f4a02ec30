// A name gets a new key or a new entry only while no container of its slot runs and, if the end of the last one was not
// observed, while the server shows no job on the agent. Otherwise a running agent would lose its job. The daemon runs with a
// fake Azure DevOps server and a stand-in dockerd over real sockets, with agents that log in and take jobs, and with random
// faults. The server's record of calls shows violations.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { LoggedRequest } from '../../../../practice/azure/world/fake.ts';
import { LiveAgents, type Life } from '../../../support/live-agents.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

const speed = 1000;
const runs = 8;
const agents = ['box-0', 'box-1'] as const;

interface World {
  readonly rig: ManagerRig;
  readonly live: LiveAgents;
}

/** The state that commands depend on. */
interface Model {
  managerRuns: boolean;
}

type Step = fc.AsyncCommand<Model, World>;

/** `name` is what a counterexample shows. */
function step(
  name: string,
  run: (world: World, model: Model) => unknown,
  check: (model: Model) => boolean = () => true,
): Step {
  return {
    check,
    run: async (model, world) => void (await run(world, model)),
    toString: () => name,
  };
}

async function start({ rig }: World): Promise<void> {
  await rig.start();
  await expect.poll(() => rig.status().catch(() => undefined)).toBeDefined();
}

const isUp = (model: Model): boolean => model.managerRuns;

const steps: fc.Arbitrary<Step>[] = [
  ...agents.flatMap((agent) => [
    fc.constant(
      step(`queue a job for ${agent}`, ({ rig }) =>
        rig.control.queue({ pool: 'gpu-lab', demands: [`Agent.Name -equals ${agent}`] }),
      ),
    ),
    fc.constant(step(`the job of ${agent} ends`, ({ live }) => live.finish(agent))),
    fc.constant(step(`the container of ${agent} is killed`, ({ live }) => live.kill(agent))),
    fc.constant(step(`dockerd loses the container of ${agent}`, ({ live }) => live.forgetContainer(agent))),
    fc.constant(step(`the server ends the session of ${agent}`, ({ rig }) => rig.control.endSession(agent))),
  ]),
  fc.constant(step('lost containers exit', ({ live }) => live.killForgotten())),
  fc.constant(
    step(
      'the manager is killed',
      ({ rig }, model) => {
        model.managerRuns = false;
        return rig.kill();
      },
      isUp,
    ),
  ),
  fc.constant(
    step(
      'the manager is stopped',
      ({ rig }, model) => {
        model.managerRuns = false;
        return rig.stop();
      },
      isUp,
    ),
  ),
  fc.constant(
    step(
      'the manager starts',
      (world, model) => {
        model.managerRuns = true;
        return start(world);
      },
      (model) => !model.managerRuns,
    ),
  ),
  fc.constant(step('drain', ({ rig }) => rig.post('/v1/drain', {}), isUp)),
  fc.constant(step('undrain', ({ rig }) => rig.post('/v1/undrain', {}), isUp)),
  fc.constant(
    step('dockerd restarts', async ({ rig }) => {
      await rig.docker.stop();
      await rig.docker.start();
    }),
  ),
  fc
    .constantFrom('POST .*/create', 'PUT .*/archive', 'POST .*/start', 'GET /containers/json')
    .map((call) =>
      step(`dockerd fails once: ${call}`, ({ rig }) =>
        rig.docker.fail(new RegExp(call), 500, 'out of order'),
      ),
    ),
  fc
    .constantFrom({ status: 503 }, { status: 429 }, { drop: 'before' as const }, { drop: 'after' as const })
    .map((fault) =>
      step(`the server fails once: ${JSON.stringify(fault)}`, ({ rig }) =>
        rig.control.fail({ count: 1, ...fault }),
      ),
    ),
  // Waits for a random time.
  fc
    .integer({ min: 1, max: 120 })
    .map((ms) => step(`${ms} ms pass`, () => new Promise((resolve) => setTimeout(resolve, ms)))),
];

test('a key is replaced only without a running container, and without a job whose end was not observed', async () => {
  let replaced = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 40, size: '+1' }), async (commands) => {
      const rig = await ManagerRig.create(speed);
      const world = { rig, live: new LiveAgents(rig) };
      const model = { managerRuns: true };
      try {
        await start(world);
        await fc.asyncModelRun(() => ({ model, real: world }), commands);
        await calm(world, model);
        const requests = await rig.control.requests();
        expect(breaches(requests, world.live.lives)).toEqual([]);
        replaced += requests.filter((request) => replacedKey(request) !== undefined).length;
      } finally {
        await rig.close();
      }
    }),
    { numRuns: runs, endOnFailure: true },
  );
  // Each run ends with two replaced keys.
  expect(replaced).toBeGreaterThanOrEqual(2 * runs);
}, 600_000);

/** Ends the faults: all agents recover, and both get a new key. */
async function calm({ rig, live }: World, model: Model): Promise<void> {
  await rig.control.clearFaults();
  rig.docker.faults.length = 0;
  if (!model.managerRuns) await start({ rig, live });
  await rig.post('/v1/undrain', {});
  live.killForgotten();
  // Finishes waiting jobs.
  const done = setInterval(() => agents.forEach((agent) => live.finish(agent)), 20);
  try {
    await rig.until('idle');
    const ids = () => agents.map((agent) => rig.docker.get(agent)?.id);
    const before = ids();
    for (const agent of agents) live.kill(agent);
    await expect.poll(() => ids().every((id, at) => id !== undefined && id !== before[at])).toBe(true);
    await rig.until('idle');
  } finally {
    clearInterval(done);
  }
}

/** Returns the agent whose key this call replaced, or deleted with its entry. */
function replacedKey({ method, path, status, agent }: LoggedRequest): string | undefined {
  const replaces = method === 'PUT' && status === 200;
  const deletes = method === 'DELETE' && status < 300;
  return /\/agents\/\d+$/u.test(path) && (replaces || deletes) ? agent : undefined;
}

/**
 * Returns violations: a key that was replaced although the read before it showed a job, or without a read. A job that the
 * server assigns between the read and the call is none.
 */
function breaches(requests: readonly LoggedRequest[], lives: readonly Life[]): readonly string[] {
  const reads = new Map<string, LoggedRequest>();
  return requests.flatMap((request) => {
    const name = new URLSearchParams(request.query).get('agentName');
    if (request.method === 'GET' && name !== null) reads.set(name, request);
    const agent = replacedKey(request);
    if (agent === undefined) return [];
    const read = reads.get(agent);
    reads.delete(agent);
    const at = Date.parse(request.at);
    const running = lives.filter(
      ({ agent: each, from, to }) => each === agent && from <= at && at < (to ?? Infinity),
    );
    const last = lives.findLast(({ agent: each, from }) => each === agent && from <= at);
    const hasEnded = last?.to !== undefined && last.isForgotten !== true;
    return [
      ...running.map(({ container }) => `${agent}: new key while container ${container.slice(0, 12)} ran`),
      ...(read === undefined ? [`${agent}: new key without a read`] : []),
      ...(read?.agentHasJob === true && !hasEnded ? [`${agent}: new key although a job was assigned`] : []),
    ];
  });
}
