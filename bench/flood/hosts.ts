// The machines of bench/flood: `fork`ed with their number and the flood of the last one. Reports each closed connection.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { framesSaid, hostileHost, type Said } from '../../test/support/hostile-host.ts';
import { managerStatus } from '../../test/support/manager-status.ts';

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

const facts = {
  os: 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian 12"\n',
  machine:
    'kernel 6.1.0\narch x86_64\nmachine-id 0123\nboot-id 4567\nsystemd systemd 252\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n',
  docker: 'active\ninfo {"ServerVersion":"29.1.0"}\n',
  manager: 'current /opt/azp-fleet/versions/1\nActiveState active\nUnitFileState enabled\n',
  'manager-status': JSON.stringify(managerStatus()),
};

/** What a script gets: facts where it asks for them, else a line. */
function answer(script: string): Said {
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
    response.end(facts['manager-status']);
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
  Array.from({ length: Number(count) }, () => hostileHost({ answer, managerSocket: socket, left })),
);
process.send?.(hosts.map(({ port, hostKey }): Place => ({ port, hostKey })));
process.once('disconnect', () => {
  rmSync(folder, { recursive: true });
  process.exit();
});
