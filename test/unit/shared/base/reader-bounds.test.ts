// Each reader gets ten times what it takes at most, from sources that do not end by themselves.
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withBoundsTable } from '../../../../scripts/reader-bounds-table.ts';
import { listTokens } from '../../../../src/cli/token/az.ts';
import { diagnose } from '../../../../src/cli/diagnose/saved.ts';
import { createAzureClient } from '../../../../src/shared/azure/create-client.ts';
import { patCredential, requestToken } from '../../../../src/shared/azure/http/credential.ts';
import { managedIdentityCredential } from '../../../../src/shared/azure/http/managed-identity.ts';
import type { Fetch } from '../../../../src/shared/azure/http/proxy.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import {
  deepestJson,
  excessIn,
  type JsonBound,
  readerBounds,
} from '../../../../src/shared/base/reader-bounds.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import { Lines, longestMessage, newestText } from '../../../../src/shared/engine/frames.ts';
import { Ring } from '../../../../src/manager/history/ring.ts';
import { RunFolder } from '../../../../src/manager/host-mode/run-folder.ts';
import { readPresence } from '../../../../src/manager/idle/presence.ts';
import { withBundledImages } from '../../../../src/manager/image/engine.ts';
import { copy } from '../../../../src/manager/machine/archives.ts';
import { isHeld } from '../../../../src/manager/machine/at-work.ts';
import { runCommand } from '../../../../src/manager/machine/command.ts';
import { containerdRoot } from '../../../../src/manager/machine/disk.ts';
import { readJson, readKept, readTextNow } from '../../../../src/manager/machine/files.ts';
import { ask, type ControlHandlers, serveControl } from '../../../../src/manager/serve/control.ts';
import { MetricsServer } from '../../../../src/manager/serve/metrics.ts';
import { tokenReader } from '../../../../src/manager/start/configuration.ts';
import { post } from '../../../../src/shared/webhook/post.ts';
import { StillClock } from '../../../support/clock.ts';
import { frame } from '../../../support/docker/reply.ts';
import { problem } from '../../practice/azure/server.ts';

const mebibyte = 1024 * 1024;
const { signal } = new AbortController();
let folder: string;
let server: Server | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bounds-'));
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** Yields this many bytes in pieces of a megabyte; notes how many were taken. */
function* pieces(bytes: number, taken: { bytes: number } = { bytes: 0 }): Iterable<Buffer> {
  for (let left = bytes; left > 0; left -= mebibyte) {
    const piece = Buffer.alloc(Math.min(left, mebibyte), 'x');
    taken.bytes += piece.length;
    yield piece;
  }
}

const json = { 'content-type': 'application/json' };

/** Answers with a body of this many bytes, piece by piece. */
function streaming(
  bytes: number,
  status = 200,
): { readonly fetch: Fetch; readonly taken: { bytes: number } } {
  const taken = { bytes: 0 };
  const fetch: Fetch = () =>
    Promise.resolve(new Response(ReadableStream.from(pieces(bytes, taken)), { status, headers: json }));
  return { fetch, taken };
}

const answering =
  (text: string): Fetch =>
  () =>
    Promise.resolve(new Response(text, { headers: json }));

const client = (fetch: Fetch, largestAnswer: JsonBound) =>
  createAzureClient({
    organization: 'https://dev.azure.com/lab',
    credential: patCredential(new Secret('x')),
    log: silentLogger,
    signal,
    clock: new StillClock(),
    fetch,
    largestAnswer,
  });

/** An agent with this many capabilities. */
const agentWith = (count: number): string => {
  const systemCapabilities = Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, '1']));
  return JSON.stringify({ id: 7, name: 'a', enabled: true, status: 'offline', systemCapabilities });
};

/** A list with this many values. */
const listWith = (count: number): string => `{"value":[${'1,'.repeat(count)}1]}`;

async function expectTooLong(bound: JsonBound): Promise<void> {
  const { fetch, taken } = streaming(10 * bound.bytes);
  expect((await problem(client(fetch, bound).listPools()))?.code).toBe('azure.too-long');
  expect(taken.bytes).toBeLessThan(bound.bytes + 4 * mebibyte);
  const many = client(answering(listWith(Math.min(10 * bound.values, 6_000_000))), bound);
  expect((await problem(many.listPools()))?.what).toContain(`more than ${bound.values} values`);
}

/** Counts the entries of a history. */
async function historyIn(path: string): Promise<number> {
  let count = 0;
  for await (const _ of new Ring(path).entries()) count += 1;
  return count;
}

const unread = () => Promise.reject(new Error('no file is read'));

/** By reader: feeds it ten times its bound, and checks what it does. */
const feeds: Readonly<Record<keyof typeof readerBounds, () => Promise<void>>> = {
  azureAgent: async () => {
    const { bytes, values } = readerBounds.azureAgent;
    const all = readerBounds.azureOfManager;
    const long = client(streaming(10 * bytes).fetch, all);
    expect(await problem(long.getAgent(1, 7))).toMatchObject({
      code: 'azure.too-long',
      what: expect.stringContaining('more than 1 MiB'),
    });
    const many = client(answering(agentWith(10 * values)), { ...all, bytes: 10 * bytes });
    expect((await problem(many.getAgent(1, 7)))?.code).toBe('azure.too-long');
    expect(await client(answering(agentWith(500)), all).getAgent(1, 7)).toMatchObject({ id: 7 });
  },
  azureOfManager: () => expectTooLong(readerBounds.azureOfManager),
  azureOfCli: () => expectTooLong(readerBounds.azureOfCli),
  entraToken: async () => {
    const { fetch, taken } = streaming(10 * readerBounds.entraToken.bytes);
    const principal = { clientId: 'c', tenantId: 't', secret: new Secret('s'), clock: new StillClock() };
    expect((await problem(requestToken({ ...principal, fetch }, signal)))?.code).toBe('azure.unreachable');
    // Three attempts.
    expect(taken.bytes).toBeLessThan(3 * (readerBounds.entraToken.bytes + 4 * mebibyte));
    const many = { ...principal, fetch: answering(listWith(10 * readerBounds.entraToken.values)) };
    expect((await problem(requestToken(many, signal)))?.code).toBe('azure.unreachable');
    for (const arc of [{}, { arc: true }] as const) {
      const machine = { ...arc, fetch: many.fetch, clock: new StillClock(), readTrusted: unread };
      const login = managedIdentityCredential(machine);
      expect((await problem(login.authorization(signal)))?.code).toBe('azure.unreachable');
    }
  },
  azAnswer: async () => {
    const file = join(folder, 'az');
    writeFileSync(file, '#!/bin/sh\nhead -c 10485760 /dev/zero | tr "\\0" x\n', { mode: 0o700 });
    const place = { env: { PATH: `${folder}:/usr/bin:/bin` }, cwd: folder, signal, url: 'https://localhost' };
    await expect(listTokens(place)).rejects.toMatchObject({
      problem: { code: 'azure.az-failed', seen: `more than ${mebibyte} bytes` },
    });
  },
  arcKey: async () => {
    const asked: number[] = [];
    const login = managedIdentityCredential({
      arc: true,
      readTrusted: (_, most) => {
        asked.push(most);
        return Promise.resolve(Buffer.alloc(most, 'x'));
      },
      fetch: () =>
        Promise.resolve(
          new Response('{}', {
            status: 401,
            headers: { 'www-authenticate': 'Basic realm=/var/opt/azcmagent/tokens/a.key' },
          }),
        ),
      clock: new StillClock(),
    });
    expect((await problem(login.authorization(signal)))?.code).toBe('azure.auth');
    expect(asked).toEqual([readerBounds.arcKey.bytes + 1]);
  },
  webhookRefusal: async () => {
    const { fetch, taken } = streaming(10 * mebibyte, 400);
    const answer = await post(fetch, new Secret('http://hook.example/x'), '{}', { wall: 0, signal });
    expect(answer.kind).toBe('refused');
    expect(taken.bytes).toBeLessThan(4 * mebibyte);
  },
  agentArchive: async () => {
    expect(readerBounds.agentArchive.bytes).toBeGreaterThan(300 * mebibyte);
    const archive = Readable.from(pieces(40 * mebibyte));
    await expect(copy(archive, undefined, 4 * mebibyte)).rejects.toThrow('more than 4 MiB');
  },
  controlSocket: async () => {
    const path = join(folder, 'manager.sock');
    let drains = 0;
    const handlers = { drain: async () => (drains += 1), status: () => 'up' };
    server = await serveControl(path, handlers as unknown as ControlHandlers, silentLogger);
    const body = { reason: 'x'.repeat(10 * readerBounds.controlSocket.bytes) };
    expect(await problem(ask(path, { method: 'POST', path: '/v1/drain', body }))).toBeDefined();
    expect(drains).toBe(0);
    expect(await ask(path, { method: 'GET', path: '/v1/status' })).toBe('up');
  },
  // Connections and time: test/unit/manager/serve/served.test.ts.
  metricsPort: async () => {
    const end = new AbortController();
    const port = await freePort();
    const tools = { log: silentLogger, clock: new StillClock() };
    const running = new MetricsServer(port, () => Promise.resolve('up'), tools).run(end.signal);
    const status = async () =>
      (await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined))?.status;
    await expect.poll(status).toBe(200);
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.resume().write(`GET / HTTP/1.1\r\nx: ${'x'.repeat(10 * readerBounds.metricsPort.headerBytes)}`);
    await once(socket, 'close');
    expect(await status()).toBe(200);
    end.abort();
    await running;
  },
  containerOutput: async () => {
    const { bytes } = readerBounds.containerOutput;
    function* output(): Iterable<Buffer> {
      for (const piece of pieces(10 * bytes)) yield frame(piece.toString('latin1'));
      yield frame('the end');
    }
    const text = await newestText(Readable.from(output()), bytes);
    expect(text).toHaveLength(bytes);
    expect(text.endsWith('xthe end')).toBe(true);
  },
  hostRunOutput: async () => {
    const run = new RunFolder(folder, 'host-1');
    mkdirSync(run.path, { recursive: true });
    writeFileSync(run.log, '');
    truncateSync(run.log, 10 * readerBounds.hostRunOutput.bytes);
    expect(await run.output()).toHaveLength(readerBounds.hostRunOutput.bytes);
  },
  line: async () => {
    const lines = new Lines();
    lines.push(Buffer.alloc(10 * readerBounds.line.characters, 'x'));
    expect(lines.push(Buffer.from('\n'))[0]).toHaveLength(readerBounds.line.characters);
  },
  engineAnswer: async () => {
    const socketPath = join(folder, 'docker.sock');
    server = createServer((_, response) => {
      response.writeHead(200, json);
      Readable.from(pieces(10 * readerBounds.engineAnswer.bytes))
        .on('error', () => undefined)
        .pipe(response);
    }).listen(socketPath);
    await once(server, 'listening');
    const engine = createEngine({ socketPath });
    const tooLong = { problem: { code: 'engine.failed', what: 'an answer of Docker is longer than 16 MiB' } };
    await expect(engine.create('box-0', { Image: 'agent' })).rejects.toMatchObject(tooLong);
    // Docker answers a stop with 204: for this client any other status is a refusal.
    await expect(engine.stop('box-0', 3600)).rejects.toMatchObject(tooLong);
  },
  engineMessage: async () => {
    const lines = new Lines(longestMessage);
    lines.push(Buffer.alloc(10 * readerBounds.engineMessage.characters, 'x'));
    expect(lines.push(Buffer.from('\n'))[0]).toHaveLength(readerBounds.engineMessage.characters);
  },
  containerFile: async () => {
    const socketPath = join(folder, 'docker.sock');
    server = createServer((_, response) => {
      Readable.from(pieces(10 * readerBounds.containerFile.bytes))
        .on('error', () => undefined)
        .pipe(response.on('error', () => undefined));
    }).listen(socketPath);
    await once(server, 'listening');
    const file = createEngine({ socketPath }).getArchive('box', '/azp/.agent');
    expect((await problem(file))?.code).toBe('engine.file-too-large');
  },
  programOutput: async () => {
    const { bytes } = readerBounds.programOutput;
    const { output, isCut } = await runCommand('head', ['-c', String(10 * bytes), '/dev/zero'], 300_000);
    expect(isCut).toBe(true);
    expect(output.length).toBeLessThan(bytes + mebibyte);
  },
  tokenFile: async () => {
    const path = grown('token', 'a token', 10 * readerBounds.tokenFile.bytes);
    const read = tokenReader([path], silentLogger);
    expect((await problem(read()))?.code).toBe('azure.auth');
  },
  imageManifest: async () => {
    const digest = 'a'.repeat(64);
    grown(`${digest}.json`, '{}', 10 * readerBounds.imageManifest.bytes);
    const engine = withBundledImages({ imageId: async () => undefined } as unknown as Engine, folder);
    expect(await engine.imageId(`registry.example/agent@sha256:${digest}`)).toBeUndefined();
  },
  kernelLocks: async () => {
    const file = statSync(folder);
    expect(await isHeld(file, grown('locks', '1: FLOCK  ADVISORY  WRITE 1 08:01:1 0 EOF\n', 100))).toBe(
      false,
    );
    expect(await isHeld(file, grown('locks', '', 10 * readerBounds.kernelLocks.bytes))).toBe(true);
  },
  loginFile: async () => {
    mkdirSync(join(folder, 'inhibit'));
    const inhibitor = 'WHAT=shutdown\nMODE=block\nWHO=dnf\n';
    grown('inhibit/1', inhibitor, 10 * readerBounds.loginFile.bytes);
    const places = { systemd: folder, proc: folder, changes: join(folder, 'changes') };
    const tools = { command: runCommand, process: async () => undefined };
    expect(await readPresence(places, tools)).toMatchObject([{ what: 'dnf inhibits the shutdown' }]);
  },
  containerdConfig: async () => {
    const path = grown('config.toml', `root = "${folder}"\n`, 10 * readerBounds.containerdConfig.bytes);
    expect(await containerdRoot(path)).toBe(folder);
  },
  savedOutput: async () => {
    const { bytes } = readerBounds.savedOutput;
    const taken = { bytes: 0 };
    const packed = gzipSync(Buffer.concat([...pieces(mebibyte)]));
    function* archive(): Iterable<Buffer> {
      for (; taken.bytes < 10 * bytes; taken.bytes += mebibyte) yield packed;
    }
    const log = '[    1.000000] Linux version 6.1.0\n';
    const found = await diagnose(Readable.from([gzipSync(log), ...archive()].values()));
    expect(found).toMatchObject({
      kernelLines: 1,
      checkup: { findings: [{ code: 'diagnose.incomplete', what: 'only its first 256 MiB were read' }] },
    });
  },
  savedLine: async () => {
    const line = Buffer.alloc(10 * readerBounds.savedLine.characters, 'x');
    const log = Buffer.concat([Buffer.from('[    1.000000] '), line, Buffer.from('\n[    2.000000] y\n')]);
    expect(await diagnose(Readable.from([log]))).toMatchObject({ kernelLines: 2 });
  },
  savedSmi: async () => {
    const xml = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
    const filler = `${'x'.repeat(999)}\n`.repeat(readerBounds.savedSmi.characters / 100);
    expect(await diagnose(Readable.from([Buffer.from(xml + filler)]))).toMatchObject({
      kind: 'nvidia-smi',
      checkup: { findings: [{ code: 'smi.unreadable' }] },
    });
  },
  historyFile: async () => {
    const { bytes } = readerBounds.historyFile;
    const path = join(folder, 'history.jsonl');
    const line = `${JSON.stringify({ t: 1, k: 'a', v: 'x'.repeat(200) })}\n`;
    writeFileSync(path, '');
    truncateSync(path, 8 * bytes);
    appendFileSync(path, line.repeat(Math.ceil((2 * bytes) / line.length)));
    const read = await historyIn(path);
    expect(read).toBeGreaterThan(0.99 * ((2 * bytes) / line.length));
    await new Ring(path).compact(1);
    expect(statSync(path).size).toBeLessThan(bytes);
  },
  historyLine: async () => {
    const path = join(folder, 'history.jsonl');
    const short = `${JSON.stringify({ t: 1, k: 'a', v: 'x' })}\n`;
    const long = `${JSON.stringify({ t: 1, k: 'b', v: 'x'.repeat(10 * readerBounds.historyLine.bytes) })}\n`;
    writeFileSync(path, short + long + short);
    expect(await historyIn(path)).toBe(2);
  },
  ownFile: async () => {
    const path = grown('manager.json', '', 10 * readerBounds.ownFile.bytes);
    expect(() => readTextNow(path)).toThrow('more than 16 MiB');
    expect(await readJson(path)).toBeUndefined();
    expect((await problem(readKept(path, String)))?.code).toBe('file.damaged');
  },
};

/** Writes a file with this text, then zeroes, of this many bytes. */
function grown(name: string, text: string, bytes: number): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  truncateSync(path, bytes);
  return path;
}

async function freePort(): Promise<number> {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  other.close();
  await once(other, 'close');
  return port;
}

test.each(Object.entries(feeds))('%s', async (_, feed) => feed());

test('docs/security.md lists all of them', () => {
  const page = readFileSync('docs/security.md', 'utf8');
  expect(page).toBe(withBoundsTable(page, readerBounds));
});

describe('the count of values and levels', () => {
  const count = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? 1 + Object.values(value).reduce((sum: number, item) => sum + count(item), 0)
      : 1;

  test('is at least the number of values in the outermost one, and no text in a string counts', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        const values = count(value);
        expect(excessIn(text, 2 * values)).toBeUndefined();
        if (values > 1) expect(excessIn(text, values - 2)).toBeDefined();
      }),
    );
    expect(excessIn(JSON.stringify(['[{,"\\'.repeat(1000)]), 1)).toBeUndefined();
  });

  test.each(['[', '{"a":', '[1,['])('ends at %s without an end', (part) => {
    expect(excessIn(part.repeat(10 * deepestJson), 1e9)).toBe(`more than ${deepestJson} levels`);
    expect(excessIn(part.repeat(1e6), 1000, 1e9)).toBe('more than 1000 values');
  });

  test('is none of a page, which is no JSON', () => {
    expect(excessIn(`<html>${'{,'.repeat(1e5)}`, 10)).toBeUndefined();
    expect(excessIn(`\uFEFF\n${listWith(20)}`, 10)).toBe('more than 10 values');
  });

  test.each(['["', '["\\', '["\\"'])('ends at a string without an end: %s', (part) => {
    expect(excessIn(part + 'x'.repeat(1e6), 10)).toBeUndefined();
  });
});
