// Ctrl-C ends every command with exit 130, also if each host has already reported its result.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { commands } from '../../../src/cli/commands.ts';
import { runCommand } from '../../support/command.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

/** Command lines other than `NAME h1`. */
const typed: Readonly<Record<string, string>> = {
  bundle: 'bundle h1 -o site.bundle',
  diagnose: 'diagnose -',
  doctor: 'doctor --job 4711',
  drain: 'drain h1 --wait',
  exec: 'exec -- true',
  'pool authorize': 'pool authorize gpu',
  'pool create': 'pool create gpu-new',
  'pool list': 'pool list',
  'pool prune': 'pool prune',
  ssh: 'ssh h1 -- true',
};

/** Commands that wait: for a host or a server that accepts the connection and says nothing, or for standard input. setup
 * waits for a person at a terminal. */
const waiting = commands.flatMap(({ name, offline }) =>
  (offline === true || name === 'setup') && name !== 'diagnose' ? [] : [[name, typed[name] ?? `${name} h1`]],
) as readonly (readonly [string, string])[];

const cwd = mkdtempSync(join(tmpdir(), 'azp-interrupted-'));
const open = new Set<Socket>();
const servers: Server[] = [];

async function silentServer(): Promise<number> {
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  const [azure, host] = [await silentServer(), await silentServer()];
  writeFileSync(join(cwd, 'token'), 'an-unused-token\n', { mode: 0o600 });
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: http://127.0.0.1:${azure}/lab
token: { file: token }
projects: [vision]
defaults: { user: lab, pool: gpu, agents: 1, sshConfig: none }
hosts: { h1: { address: 127.0.0.1, port: ${host} } }
`,
  );
});
afterAll(() => {
  for (const socket of open) socket.destroy();
  for (const server of servers) server.close();
  rmSync(cwd, { recursive: true });
});

/** Runs a command, interrupts it once it waits, and returns its result. */
async function interrupted(argv: readonly string[]) {
  const stop = new AbortController();
  const stdin = new PassThrough();
  const asked = Promise.race(servers.map((each) => once(each, 'connection')));
  const ended = runCommand(argv, { cwd, signal: stop.signal, stdin });
  await (argv[0] === 'diagnose'
    ? vi.waitUntil(() => stdin.listenerCount('readable') > 0, { timeout: 120_000 })
    : asked);
  stop.abort();
  return ended;
}

describe('interrupted while waiting', () => {
  test.each(waiting)('%s ends with 130', async (_, line) => {
    const { exitCode, stdout, stderr } = await interrupted([
      ...line.split(' ').slice(0, 1),
      '--yes',
      ...line.split(' ').slice(1),
    ]);
    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 130 });
    expect(`${stdout}${stderr}`).not.toMatch(/unreachable|bug in azp-fleet/);
    expect(stderr).toMatch(/(^|\n)canceled[^\n]* \(exit 130\) \[interrupted\]\n$/);
  });

  test.each(['exec --json -- true', 'drain --json h1 --yes', 'status --json', 'pool list --json'])(
    '%s reports it in the document',
    async (line) => {
      const { exitCode, stdout, stderr } = await interrupted(line.split(' '));
      expect(stderr).not.toContain('canceled');
      expect(JSON.parse(stdout)).toMatchObject({ exitCode: 130, problems: [{ code: 'interrupted' }] });
      expect(exitCode).toBe(130);
    },
  );
});
