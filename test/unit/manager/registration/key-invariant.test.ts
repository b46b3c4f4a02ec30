// The one rule whose breach would take a job from under a running agent: a name gets a new key, or a new entry, only
// while no container of its slot lives; and where its last one was not seen to end, while the server shows no job on it. The whole daemon, a fake Azure DevOps server and a
// stand-in dockerd over real sockets; agents that log in, take jobs and hold them; and a storm of whatever may happen.
// The judge is the server's own record of the calls that replaced a key.
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

/** What the commands may rely on. */
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
    fc.constant(step(`the container of ${agent} is killed`, ({ live }) => live.die(agent))),
    fc.constant(step(`dockerd loses the container of ${agent}`, ({ live }) => live.lose(agent))),
    fc.constant(step(`the server ends the session of ${agent}`, ({ rig }) => rig.control.endSession(agent))),
  ]),
  fc.constant(step('what dockerd has lost dies', ({ live }) => live.killLost())),
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
  // Lets things happen; how much of them, chance decides.
  fc
    .integer({ min: 1, max: 120 })
    .map((ms) => step(`${ms} ms pass`, () => new Promise((resolve) => setTimeout(resolve, ms)))),
];

test('a key is replaced only with no live container, and no job where its end was not seen, whatever happens', async () => {
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
  // Else nothing was shown: each run ends with two.
  expect(replaced).toBeGreaterThanOrEqual(2 * runs);
}, 120_000);

/** The storm is over: everything comes back by itself, and however little happened, both agents get a new key at the end. */
async function calm({ rig, live }: World, model: Model): Promise<void> {
  await rig.control.clearFaults();
  rig.docker.faults.length = 0;
  if (!model.managerRuns) await start({ rig, live });
  await rig.post('/v1/undrain', {});
  live.killLost();
  // Jobs that still wait are run, too.
  const done = setInterval(() => agents.forEach((agent) => live.finish(agent)), 20);
  try {
    await rig.until('idle');
    const ids = () => agents.map((agent) => rig.docker.get(agent)?.id);
    const before = ids();
    for (const agent of agents) live.die(agent);
    await expect.poll(() => ids().every((id, at) => id !== undefined && id !== before[at])).toBe(true);
    await rig.until('idle');
  } finally {
    clearInterval(done);
  }
}

/** The agent whose key this call replaced, or ended with its entry. */
function replacedKey({ method, path, status, agent }: LoggedRequest): string | undefined {
  const replaces = method === 'PUT' && status === 200;
  const deletes = method === 'DELETE' && status < 300;
  return /\/agents\/\d+$/u.test(path) && (replaces || deletes) ? agent : undefined;
}

/**
 * A job that the server gives away between the manager's last look and its call cannot be known: a breach is a key that
 * was replaced although the look before it showed a job, or without a look of its own.
 */
function breaches(requests: readonly LoggedRequest[], lives: readonly Life[]): readonly string[] {
  const looks = new Map<string, LoggedRequest>();
  return requests.flatMap((request) => {
    const looked = new URLSearchParams(request.query).get('agentName');
    if (request.method === 'GET' && looked !== null) looks.set(looked, request);
    const agent = replacedKey(request);
    if (agent === undefined) return [];
    const look = looks.get(agent);
    looks.delete(agent);
    const at = Date.parse(request.at);
    const alive = lives.filter(
      ({ agent: each, from, to }) => each === agent && from <= at && at < (to ?? Infinity),
    );
    const last = lives.findLast(({ agent: each, from }) => each === agent && from <= at);
    const hasEnded = last?.to !== undefined && last.isLost !== true;
    return [
      ...alive.map(({ container }) => `${agent}: new key while container ${container.slice(0, 12)} lived`),
      ...(look === undefined ? [`${agent}: new key without a look`] : []),
      ...(look?.agentHasJob === true && !hasEnded ? [`${agent}: new key although a job was assigned`] : []),
    ];
  });
}
