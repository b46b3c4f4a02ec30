import { OwnAgents } from '../../src/manager/pool/own-agents.ts';
import { Pools } from '../../src/manager/pool/watch.ts';
import { plainSlot } from '../../test/support/slot.ts';
import { SimulatedClock } from '../../test/support/clock.ts';
import { clientFor, namesOf, ownerOf } from './client.ts';

export interface Asked {
  /** On the clock of the managers, ms. */
  readonly at: number;
  readonly bytes: number;
}

/** Returns the calls of this many managers to a pool in this many minutes, all started at the same moment. */
export async function askedBy(
  organization: string,
  pool: string,
  { hosts, minutes }: { readonly hosts: number; readonly minutes: number },
): Promise<readonly Asked[]> {
  const clock = new SimulatedClock();
  const asked: Asked[] = [];
  let underWay = 0;
  const counting = async (url: string, init: Parameters<typeof fetch>[1]): Promise<Response> => {
    underWay += 1;
    const at = clock.monotonic();
    try {
      const body = Buffer.from(await (await fetch(url, init)).arrayBuffer());
      asked.push({ at, bytes: body.byteLength });
      return new Response(body, { headers: { 'content-type': 'application/json' } });
    } finally {
      underWay -= 1;
    }
  };
  const settled = async (): Promise<void> => {
    for (let still = 0; still < 5; still = underWay === 0 ? still + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve));
  };
  const stop = new AbortController();
  const running = Array.from({ length: hosts }, async (_, host) => {
    const client = clientFor(organization, { clock, fetch: counting });
    const own = new OwnAgents(client, ownerOf(host), clock);
    const slots = namesOf(host).map((agent, slot) => ({ ...plainSlot, name: String(slot), agent, pool }));
    await new Pools(client, own, [pool], clock, () => undefined).run(
      stop.signal,
      () => slots,
      () => [],
    );
  });
  await clock.pass(minutes * 60_000, settled);
  stop.abort();
  await Promise.all(running);
  return asked;
}

/** All start in the same moment here, and a practice server that a thousand call at once is called again by some. */
const startMs = 60_000;

export interface Pace {
  readonly calls: number;
  /** Calls per minute, after the first checks of all. */
  readonly aMinute: number;
  /** The most in any one minute and any one second after it. */
  readonly mostAMinute: number;
  readonly mostASecond: number;
  /** Of one call, KiB. */
  readonly kib: number;
}

/** Pure. */
export function paceOf(asked: readonly Asked[], minutes: number): Pace {
  const later = asked.filter(({ at }) => at >= startMs);
  const most = (ms: number): number =>
    Math.max(
      0,
      ...[...Map.groupBy(later, ({ at }) => Math.floor(at / ms)).values()].map((all) => all.length),
    );
  return {
    calls: asked.length,
    aMinute: later.length / (minutes - startMs / 60_000),
    mostAMinute: most(60_000),
    mostASecond: most(1000),
    kib: later.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, later.length) / 1024,
  };
}
