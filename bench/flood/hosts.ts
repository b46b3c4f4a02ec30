// The machines of bench/flood: `fork`ed with their number and the flood of the last one. Reports each closed connection.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { framesSaid, hostileHost, type Said } from '../../test/support/hostile-host.ts';
import { managerStatus } from '../../test/support/manager-status.ts';
import { workingFacts } from '../../test/support/practice-fleet.ts';

/** Where a host listens, and its key. */
export interface Place {
  readonly port: number;
  readonly hostKey: string;
}

const [, , count = '1', flood = 'none'] = process.argv;
const piece = 65_536;

/** `first` once, then `text` for ever. */
function endless(text: string, first = ''): Readable {
  const chunk = Buffer.from(text.repeat(Math.ceil(piece / text.length)));
  const stream = new Readable({
    read() {
      this.push(chunk);
    },
  });
  stream.push(first);
  return stream;
}

/** What a script gets: facts where it asks for them, else a line. */
function answer(script: string, index: number): Said {
  // No two machines have the same id.
  const facts = workingFacts(String(index));
  const asksFacts = script.includes("printf 'frames %s");
  if (flood === 'lines') return { stdout: endless('y\n') };
  if (flood === 'line') return { stdout: endless('x') };
  if (asksFacts && flood === 'facts')
    return framesSaid(script, { ...facts, others: 'gpu-process 1 x\n'.repeat(40_000) });
  if (asksFacts && flood === 'endless facts')
    return { stdout: endless('gpu-process 1 x\n', framesSaid(script, facts).stdout) };
  return asksFacts ? framesSaid(script, facts) : { stdout: 'Filesystem 12 % full\n' };
}

const folder = mkdtempSync(join(tmpdir(), 'azp-flood-'));
const socket = join(folder, 'manager.sock');
const manager = createServer((request, response) => {
  if (flood !== 'answer' || request.url !== '/v1/status') {
    response.end(JSON.stringify(managerStatus()));
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  const flooding = endless(' ');
  request.once('close', () => flooding.destroy());
  flooding.pipe(response);
});
await new Promise<void>((resolve) => void manager.listen(socket, resolve));
const left = (): void => void process.send?.('left');
const hosts = await Promise.all(
  Array.from({ length: Number(count) }, (_, index) =>
    hostileHost({ answer: (script) => answer(script, index), managerSocket: socket, left }),
  ),
);
process.send?.(hosts.map(({ port, hostKey }): Place => ({ port, hostKey })));
process.once('disconnect', () => {
  rmSync(folder, { recursive: true });
  process.exit();
});
