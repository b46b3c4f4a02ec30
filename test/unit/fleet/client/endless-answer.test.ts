// Over a real channel of ssh2, whose end has no reason.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { expect, test } from 'vitest';

import { createManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { hostileHost } from '../../../support/hostile-host.ts';
import { problemOf, sshSpec, testTransport } from '../../../support/transport.ts';

test('a response without an end is an error, and the request is not repeated', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'endless-answer-'));
  const piece = Buffer.alloc(65_536, ' ');
  let requests = 0;
  const manager = createServer((request, response) => {
    requests += 1;
    const flood = new Readable({
      read() {
        this.push(piece);
      },
    });
    request.once('close', () => flood.destroy());
    flood.pipe(response);
  });
  const managerSocket = join(folder, 'manager.sock');
  await new Promise<void>((resolve) => void manager.listen(managerSocket, resolve));
  const host = await hostileHost({ managerSocket });
  const transport = testTransport();
  const ssh = sshSpec({
    address: '127.0.0.1',
    port: host.port,
    user: 'lab',
    loginPassword: { env: 'word' },
    hostKeys: [host.hostKey],
  });
  const session = await transport.connect({ name: 'gpu-1', ssh });
  const agent = session.socketAgent('/run/azp-fleet/manager.sock');
  const client = createManagerClient(agent, 'gpu-1');
  expect(await problemOf(client.undrain({ slots: [] }))).toMatchObject({
    code: 'manager.answer',
    host: 'gpu-1',
    what: 'the manager sent a response of more than 4 MiB',
  });
  expect(requests).toBe(1);
  agent.destroy();
  await transport.close();
  host.close();
  manager.closeAllConnections();
  manager.close();
  rmSync(folder, { recursive: true });
});
