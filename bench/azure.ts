import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fakeControl } from '../practice/azure/control/control.ts';
import { percentile } from './percentile.ts';
import { recordResults } from './results.ts';

const token = 'bench';
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
  const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bench-'));
  const children: ChildProcess[] = [];
  const start = async (...command: readonly string[]): Promise<string> => {
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    for await (const line of createInterface({ input: child.stdout })) return line.replace('listening: ', '');
    throw new Error(`${command.join(' ')} ended`);
  };
  try {
    writeFileSync(join(folder, 'token'), token);
    const main = join(import.meta.dirname, '../practice/azure/main.ts');
    const fake = await start(main, '--listen', '127.0.0.1:0', '--token-file', join(folder, 'token'));
    const control = fakeControl(new URL(fake).origin);
    const pools = `${fake}/_apis/distributedtask/pools`;
    const [few, many] = [await pool(pools, 'few'), await pool(pools, 'many')];
    await control.makeAgents({ pool: 'few', count: 10 });
    await control.makeAgents({ pool: 'many', count: agents });
    const list = `${pools}/${many}/agents?api-version=7.1&${everything}`;
    writeFileSync(join(folder, 'list'), Buffer.from(await (await ask(list)).arrayBuffer()));
    const bare = await start('-e', bareServer, join(folder, 'list'));
    const find = (id: number, name: string) =>
      `${pools}/${id}/agents?api-version=7.1&agentName=${name}&${everything}`;
    const wholes = await turns([list, bare], rounds);
    const singles = await turns([find(many, `agent-${agents}`), find(few, 'agent-10')], lookUps);
    conclude(agents, [...wholes, ...singles]);
  } finally {
    for (const child of children) child.kill();
    rmSync(folder, { recursive: true });
  }
}

const bareServer = `
const bytes = require('node:fs').readFileSync(process.argv[1]);
const server = require('node:http').createServer((_, response) => response.end(bytes));
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port));
`;

async function ask(url: string, body?: object): Promise<Response> {
  const response = await fetch(url, {
    headers: {
      authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}

async function pool(pools: string, name: string): Promise<number> {
  return ((await (await ask(`${pools}?api-version=7.1`, { name })).json()) as { id: number }).id;
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
  const row = (what: string, figure: Figure | undefined, than: Figure | undefined) =>
    `| ${what} | ${figure?.wall.toFixed(2)} | ${((figure?.bytes ?? 0) / 1024).toFixed(1)} | ${ratio(figure, than)} |`;
  const lines = [
    '| answer | wall ms | KiB | ÷ what it is held against |\n|---|---|---|---|',
    row(`all ${agents} agents of a pool, with all includes`, whole, bare),
    row('the same bytes from a bare server of Node', bare, bare),
    row(`one agent by name, in a pool of ${agents}`, one, fewer),
    row('one agent by name, in a pool of 10', fewer, fewer),
  ];
  const title = `the practice server with a large pool: medians of ${rounds} lists and ${lookUps} look-ups, taking turns`;
  recordResults('azure', title, lines.join('\n'));
}
