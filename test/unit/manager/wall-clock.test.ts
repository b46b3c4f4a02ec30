// A user or NTP sets the wall clock: nothing becomes due earlier or later because of it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/shared/base/log.ts';
import type { Engine } from '../../../src/shared/engine/engine.ts';
import { Helpers } from '../../../src/manager/docker/janitor.ts';
import { isStale } from '../../../src/manager/gpus/observe.ts';
import { GpuWatch } from '../../../src/manager/gpus/watch.ts';
import { ImageKeeper } from '../../../src/manager/image/images.ts';
import { dueAt } from '../../../src/manager/pool/sweeper.ts';
import { StatusFile } from '../../../src/manager/serve/status-file.ts';
import { SlotBook } from '../../../src/manager/slots/memory.ts';
import { StillClock } from '../../support/clock.ts';
import { config } from '../../support/manager-config.ts';
import { ManagerRig, printed } from '../../support/manager-rig.ts';
import { managerStatus } from '../../support/manager-status.ts';
import { plugInGpu } from '../../support/rig-folders.ts';
import { fault } from '../../support/fault.ts';

const day = 24 * 3_600_000;
const cause = { code: 'bug', what: 'x', next: 'x' } as const;

const folder = mkdtempSync(join(tmpdir(), 'wall-clock-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const address of ['0000:83:00.0', '0000:84:00.0']) plugInGpu({ prefix: folder }, address);
const smi = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');

/** Starts a wait, and returns a function that checks whether it is over. */
type Due = (clock: StillClock) => (() => boolean | Promise<boolean>) | Promise<() => Promise<boolean>>;

/** Each wait with its length in milliseconds. */
const table: readonly (readonly [string, number, Due])[] = [
  [
    'a slot with a failed run is launched again',
    5000,
    (clock) => {
      const memory = new SlotBook(clock).of('0');
      memory.failed(cause);
      memory.failed(cause);
      return () => clock.monotonic() >= memory.notBefore;
    },
  ],
  [
    'a failed operation is retried',
    1000,
    (clock) => {
      const memory = new SlotBook(clock).of('0');
      memory.operationFailed(cause);
      return () => clock.monotonic() >= memory.retryAt;
    },
  ],
  [
    'the loop wakes for a waiting slot',
    500,
    (clock) => {
      const book = new SlotBook(clock);
      book.of('0').notYet(cause);
      return () => book.nextDue(Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY;
    },
  ],
  [
    'a GPU check is stale',
    30_001,
    (clock) => {
      const check = { seenAt: clock.monotonic() };
      return () => isStale(check, clock);
    },
  ],
  [
    'an agent without a slot is removed',
    30_000,
    (clock) => {
      const orphan = { name: 'box-9', since: clock.monotonic() };
      return () => clock.monotonic() >= dueAt(orphan, clock.scaled);
    },
  ],
  [
    'a failed image pull is retried',
    5000,
    async (clock) => {
      let pulls = 0;
      const keeper = keeperOf(clock, {
        imageId: () => Promise.resolve(undefined),
        pull: () => {
          pulls += 1;
          return Promise.reject(new Error('no registry'));
        },
      });
      const look = () => keeper.ensure(() => ({ kind: 'pull', reference: 'registry.example/agent:1' }));
      await look();
      return async () => {
        await look();
        return pulls === 2;
      };
    },
  ],
  [
    'a registry is checked for a moved tag',
    6 * 3_600_000,
    async (clock) => {
      let pulls = 0;
      const keeper = keeperOf(clock, { pull: () => Promise.resolve(void (pulls += 1)) });
      const check = () => keeper.ensure(() => ({ kind: 'pull', reference: 'registry.example/agent:1' }));
      await check();
      expect(pulls, 'also at the start').toBe(1);
      return async () => {
        await check();
        return pulls === 2;
      };
    },
  ],
  [
    'a container probes the GPUs',
    30 * 60_000,
    async (clock) => {
      let probes = 0;
      const engine = {
        imageId: () => Promise.resolve('sha256:1'),
        version: () => Promise.resolve({ version: '29.7.2' }),
        info: () => Promise.resolve({ cdiSpecDirs: [], now: 0 }),
        listOwn: () => Promise.resolve([]),
        run: () => {
          probes += 1;
          return Promise.resolve({ code: 0, output: smi, timedOut: false });
        },
      } as unknown as Engine;
      const watch = new GpuWatch({
        engine,
        clock,
        config: config(),
        root: { prefix: folder },
        log: silentLogger,
        command: (program) => Promise.resolve(printed(program === 'sh' ? smi : '')),
        helpers: new Helpers(),
        history: { widest: (_, lanes) => lanes, forgetWidths: () => undefined },
        state: {
          value: { gpuOrder: undefined, xids: undefined },
          update: () => Promise.resolve(),
          note: () => Promise.resolve(),
        },
      });
      await watch.check();
      await watch.probe(['sha256:1'], false);
      expect(probes, 'also at the start').toBe(1);
      return async () => {
        await watch.probe(['sha256:1'], false);
        return probes === 2;
      };
    },
  ],
  [
    'an unchanged status is written again',
    15_000,
    async (clock) => {
      const path = join(folder, 'status.json');
      const file = new StatusFile(path, silentLogger);
      const publish = async (at: string): Promise<string> => {
        file.publish(managerStatus({ at }), clock.monotonic());
        await file.settled();
        return (JSON.parse(readFileSync(path, 'utf8')) as { at: string }).at;
      };
      await publish('2026-11-21T12:00:00Z');
      const later = '2026-11-21T13:00:00Z';
      return async () => (await publish(later)) === later;
    },
  ],
];

function keeperOf(
  clock: StillClock,
  engine: Partial<Pick<Engine, 'imageId' | 'pull' | 'build'>>,
): ImageKeeper {
  const none = { imageId: () => Promise.resolve('sha256:1'), pull: () => Promise.resolve() };
  const text = () => Promise.resolve('');
  const whole = { ...none, build: text, push: text, imageLabel: text, ...engine };
  return new ImageKeeper(whole, clock, silentLogger, () => undefined);
}

describe.each([
  ['is set a day ahead', day],
  ['is set a day back', -day],
])('the wall clock %s', (_, jump) => {
  test.each(table)('%s when it is due, after %d ms', async (__, ms, begin) => {
    const clock = new StillClock();
    const isDue = await begin(clock);
    clock.wallAhead += jump;
    expect(await isDue()).toBe(false);
    clock.pass(ms - 1);
    expect(await isDue()).toBe(false);
    clock.pass(1);
    expect(await isDue()).toBe(true);
  });

  let rig: ManagerRig | undefined;
  afterEach(async () => {
    await rig?.close();
    rig = undefined;
  });

  fault(
    'clock-set',
    'a slot in back-off and a busy one continue, and the status shows the new time',
    async () => {
      rig = await ManagerRig.create();
      const { docker } = rig;
      docker.onStart = ({ id }) => docker.end(id, 1);
      await rig.start();
      await rig.until('backing-off');
      rig.clock.wallAhead = jump;
      docker.onStart = (container) => rig?.listen(container);
      await rig.until('idle');
      rig.beginJob('box-0');
      await rig.until('busy', ['0']);
      rig.clock.wallAhead = -jump;
      rig.endJob('box-0');
      await rig.until('idle');
      expect(Math.abs(Date.parse((await rig.status()).at) - (Date.now() - jump))).toBeLessThan(3_600_000);
    },
  );
});
