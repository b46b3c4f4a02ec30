import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fakeControl } from '../practice/azure/control/control.ts';
import { clientFor, token } from './pools/client.ts';
import { PracticeServer } from './pools/server.ts';
import { recordResults, table } from './results.ts';
import { percentile } from './statistics.ts';

const rounds = 9;
const lookUps = 200;
const everything = 'includeCapabilities=true&includeAssignedRequest=true&includeLastCompletedRequest=true';

interface Figure {
  readonly wall: number;
  readonly bytes: number;
}

/**
 * `npm run bench -- azure [AGENTS]`: how long the practice server takes to list a large pool with all includes, beside a
 * bare server of Node that sends the same bytes from memory; and to find one agent by name, beside a pool of ten.
 */
export async function run(args: readonly string[]): Promise<void> {
  const agents = Number(args[0] ?? 10_000);
  const server = await PracticeServer.start();
  let bare: ChildProcess | undefined;
  try {
    const control = fakeControl(new URL(server.organization).origin);
    const pools = `${server.organization}/_apis/distributedtask/pools`;
    const client = clientFor(server.organization);
    const [few, many] = [await client.ensurePool('few'), await client.ensurePool('many')];
    await control.makeAgents({ pool: 'few', count: 10 });
    await control.makeAgents({ pool: 'many', count: agents });
    const list = `${pools}/${many.pool.id}/agents?api-version=7.1&${everything}`;
    const file = join(server.folder, 'list');
    writeFileSync(file, Buffer.from(await (await ask(list)).arrayBuffer()));
    bare = spawn(process.execPath, ['-e', bareServer, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [same] = (await once(createInterface({ input: bare.stdout as Readable }), 'line')) as [string];
    const find = (id: number, name: string) =>
      `${pools}/${id}/agents?api-version=7.1&agentName=${name}&${everything}`;
    const wholes = await turns([list, same], rounds);
    const singles = await turns(
      [find(many.pool.id, `agent-${agents}`), find(few.pool.id, 'agent-10')],
      lookUps,
    );
    conclude(agents, [...wholes, ...singles]);
  } finally {
    bare?.kill();
    await server.end();
  }
}

const bareServer = `
const bytes = require('node:fs').readFileSync(process.argv[1]);
const server = require('node:http').createServer((_, response) => response.end(bytes));
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port));
`;

async function ask(url: string): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`:${token}`).toString('base64')}`;
  const response = await fetch(url, { headers: { authorization } });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}

/** The median of each, all taking turns, so that a busy machine is busy for all. The bytes are read, not parsed. */
async function turns(urls: readonly string[], times: number): Promise<Figure[]> {
  const seen = urls.map((url) => ({ url, walls: [] as number[], bytes: 0 }));
  for (let round = 0; round < times; round += 1) {
    for (const each of seen) {
      const from = performance.now();
      each.bytes = (await (await ask(each.url)).arrayBuffer()).byteLength;
      each.walls.push(performance.now() - from);
    }
  }
  return seen.map(({ walls, bytes }) => ({ wall: percentile(walls, 0.5), bytes }));
}

function conclude(agents: number, [whole, bare, one, fewer]: readonly Figure[]): void {
  const ratio = (a?: Figure, b?: Figure) => ((a?.wall ?? Number.NaN) / (b?.wall ?? Number.NaN)).toFixed(2);
  const row = (what: string, figure: Figure | undefined, than: Figure | undefined) => [
    what,
    figure?.wall.toFixed(2),
    ((figure?.bytes ?? 0) / 1024).toFixed(1),
    ratio(figure, than),
  ];
  const title = `the practice server with a large pool: medians of ${rounds} lists and ${lookUps} look-ups, taking turns`;
  const rows = [
    row(`all ${agents} agents of a pool, with all includes`, whole, bare),
    row('the same bytes from a bare server of Node', bare, bare),
    row(`one agent by name, in a pool of ${agents}`, one, fewer),
    row('one agent by name, in a pool of 10', fewer, fewer),
  ];
  recordResults('azure', title, table(['answer', 'wall ms', 'KiB', '÷ what it is compared with'], rows));
}
