// An unexpected error in a callback of each subsystem of the whole daemon. Every subsystem has a case.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unscaled } from '../../../src/shared/base/clock.ts';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import type { ManagerTools } from '../../../src/manager/manager-tools.ts';
import { currentSubsystem, type Subsystem, subsystemNames } from '../../../src/manager/subsystems.ts';
import { ManagerRig, printed } from '../../support/manager-rig.ts';
import { freePort } from '../../support/ssh-port.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  rig.programs.set('sh', printed(healthy));
  rig.programs.set('dmesg', printed(''));
  rig.programs.set('nvidia-smi', ([question = '']) =>
    printed(question.startsWith('--query-compute-apps') ? '' : unused),
  );
});
afterEach(() => rig.close());

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const unused = [...healthy.matchAll(/<uuid>(GPU-[^<]+)</g)]
  .map(([, uuid]) => `${uuid}, 0, Disabled\n`)
  .join('');

/** Readings of the pool right after a command of a user. */
const readPools = async (): Promise<void> => void (await rig.post('/v1/undrain', {}));

interface Case {
  /** The call that throws in the callback: a tool of the manager, and its method; without one, any. */
  readonly call: readonly [tool: keyof ManagerTools, method?: string];
  readonly config?: Partial<ManagerConfig>;
  /** The error begins when the agents are idle: without this subsystem none would start. */
  readonly late?: true;
  /** Gives the subsystem work: once, and again and again. */
  readonly once?: () => Promise<void>;
  readonly again?: () => Promise<void>;
  /** Makes launches possible again, which need this subsystem. */
  readonly undo?: () => void | Promise<void>;
  /** It shows the failure of each item by itself, and tries that item again after these pauses in ms. */
  readonly ofItem?: { readonly code?: string; readonly pauses: readonly number[] };
}

let port: number;
let isBroken: boolean;

const cases: Readonly<Record<Subsystem, Case>> = {
  'agent clean-up': { call: ['engine', 'listOwn'] },
  'agent images': { call: ['engine', 'imageId'], late: true, ofItem: { pauses: [5_000, 10_000, 20_000] } },
  'agent pools': {
    call: ['azure'],
    late: true,
    once: readPools,
    undo: () => void (isBroken = false),
    ofItem: { code: 'manager.failed', pauses: [12_000, 12_000, 12_000] },
  },
  'connection test': { call: ['connect'] },
  'Docker events': { call: ['engine', 'events'] },
  'GPU check': { call: ['state', 'note'] },
  'GPU probe': { call: ['helpers', 'during'] },
  history: { call: ['history', 'write'] },
  'image clean-up': { call: ['engine', 'info'] },
  'kernel log': { call: ['follow'] },
  metrics: {
    call: ['metrics', 'render'],
    again: async () => void (await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined)),
  },
  'network isolation': { call: ['isolation', 'ensureNetwork'] },
  'network mounts': { call: ['mountinfo'] },
  'other GPU processes': { call: ['command'] },
  'power-off': { call: ['presence'], config: { idle: { afterS: 86_400, run: 'poweroff' } } },
  'run records': { call: ['runStore', 'forget'] },
  'state file': { call: ['state', 'flush'] },
  'token check': { call: ['token', 'onDisk'] },
  webhook: { call: ['webhook', 'address'], config: { webhook: { offlineS: 1, queueWaitS: 1800 } } },
};

/** Returns the tools, with a call that throws each time in which `fails` throws. */
function withCall(tools: ManagerTools, [name, method]: Case['call'], fails: () => void): ManagerTools {
  const tool: object = tools[name];
  const failing =
    (work: (...args: unknown[]) => unknown, self: unknown) =>
    (...args: unknown[]): unknown => {
      fails();
      return Reflect.apply(work, self, args);
    };
  const replaced =
    typeof tool === 'function'
      ? failing(tool as never, undefined)
      : new Proxy(tool, {
          // The tool itself, not the proxy, has its private members.
          get(target, key) {
            const value: unknown = Reflect.get(target, key, target);
            if (typeof value !== 'function') return value;
            return method === undefined || key === method
              ? failing(value as never, target)
              : (value.bind(target) as unknown);
          },
        });
  return { ...tools, [name]: replaced };
}

test.each(subsystemNames)(
  '%s: it is shown, tried again after growing pauses, and harms no other part',
  async (name) => {
    const { call, config, late, once, again, undo, ofItem } = cases[name];
    isBroken = late === undefined;
    /** When it was thrown; monotonic. */
    const thrown: number[] = [];
    rig.toolsOf = (tools) =>
      withCall(tools, call, () => {
        // A scrape comes from outside.
        if (!isBroken || (name !== 'metrics' && currentSubsystem() !== name)) return;
        thrown.push(rig.clock.monotonic());
        throw new Error('no such thing');
      });
    // The webhook is told of an agent that does not listen.
    rig.docker.onStart = (container) => {
      if (name !== 'webhook' || container.name === 'box-0') rig.listen(container);
    };
    port = await freePort();
    await rig.start({ metricsPort: port, ...config });
    await rig.until('idle', ['0']);
    isBroken = true;
    await once?.();

    await expect
      .poll(async () => {
        await again?.();
        return thrown.length;
      })
      .toBeGreaterThan(4);
    const least = ofItem?.pauses ?? [5_000, 10_000, 20_000];
    // The first may have been due for two reasons.
    const last = thrown.slice(-4);
    const pauses = last.slice(1).map((at, index) => unscaled(rig.clock, at - (last[index] ?? 0)));
    // A timer may be a millisecond early.
    expect(pauses.map((pause, index) => pause + unscaled(rig.clock, 1) >= (least[index] ?? 0))).toEqual([
      true,
      true,
      true,
    ]);
    const expected =
      ofItem === undefined
        ? { code: 'manager.subsystem-failed', what: `subsystem "${name}" failed: unexpected: no such thing` }
        : { code: ofItem.code, what: 'unexpected: no such thing' };
    expect(causesIn(await rig.status())).toContainEqual(expected);

    const before = rig.docker.get('box-0')?.id;
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    await undo?.();
    rig.endJob('box-0');
    await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(before);
    await rig.until('idle', ['0']);

    isBroken = false;
    rig.clock.passed += rig.clock.scaled(10 * 60_000);
    await expect.poll(async () => causesIn(await rig.status())).toEqual([]);
  },
);

/** Returns what the status says of unexpected errors, wherever it does. */
function causesIn(status: unknown): readonly unknown[] {
  const found: unknown[] = [];
  JSON.parse(JSON.stringify(status), (_, value: unknown) => {
    const { code, what, cause } = Object(value) as Readonly<Record<string, unknown>>;
    const text = what ?? cause;
    if (typeof text === 'string' && text.includes('no such thing')) found.push({ code, what: text });
    return value;
  });
  return found;
}
