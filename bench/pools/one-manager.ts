// One manager's checks of its pool, in a process with the flags of its unit. Arguments: organization, pool, what it does
// (`own`: its own agents; `whole`: the pool with all details of each agent), how many checks. Prints its memory as JSON.
import { readFileSync } from 'node:fs';
import { argv, memoryUsage, stdout } from 'node:process';
import { createFetch } from '../../src/shared/azure/http/proxy.ts';
import { readerBounds } from '../../src/shared/base/reader-bounds.ts';
import { OwnAgents } from '../../src/manager/pool/own-agents.ts';
import { clientFor, namesOf, ownerOf } from './client.ts';

const [organization = '', pool = '', what = '', checks = '0', longest = '0'] = argv.slice(2);
const host = 0;
const client = clientFor(organization, {
  largestAnswer: { bytes: Number(longest), values: readerBounds.azureOfManager.values },
  // As a manager asks: with these flags the built-in fetch is not available.
  fetch: createFetch({ noProxy: [] }),
});
const { id } = (await client.findPool(pool)) ?? { id: 0 };
const clock = { monotonic: () => performance.now(), scaled: (ms: number) => ms };
let heap = 0;
let agents = 0;
for (let check = 0; check < Number(checks); check += 1) {
  const own = new OwnAgents(client, ownerOf(host), clock);
  const seen =
    what === 'own'
      ? [...(await own.list(id, namesOf(host), [])).values()]
      : await client.listAgents(id, { lastCompleted: true });
  agents = seen.length;
  heap = Math.max(heap, memoryUsage().heapUsed);
}
stdout.write(`${JSON.stringify({ agents, heap, peak: peak() })}\n`);

/** Peak memory of this program; the peak of the process includes its parent's. */
function peak(): number {
  const [, kib = '0'] = /^VmHWM:\s+(\d+)/mu.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kib) * 1024;
}
