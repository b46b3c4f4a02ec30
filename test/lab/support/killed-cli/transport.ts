// Replaces src/fleet/ssh/create-transport.ts in the CLI that kills or interrupts itself: the real transport, which counts
// its effects on hosts.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

import { sh } from '../../../../src/shared/base/shell.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import {
  type TransportParts,
  createTransport as createReal,
} from '../../../../src/fleet/ssh/create-transport.ts';
import type {
  DurableResult,
  DurableSpec,
  ScriptOptions,
  ScriptResult,
  Session,
  Transport,
  UploadOptions,
  UploadSource,
} from '../../../../src/fleet/ssh/transport.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import { effect, effectsVariable, killSelf, signal, survived } from './effects.ts';
import { shared, traced, traceFolder } from './trace.ts';

export { connectionTools } from '../../../../src/fleet/ssh/create-transport.ts';

export function createTransport(parts: TransportParts): Transport {
  const real = createReal(parts);
  return {
    connect: async (target, options) => killedAfterEffects(await real.connect(target, options)),
    close: () => real.close(),
  };
}

function killedAfterEffects(session: Session): Session {
  return {
    host: session.host,
    get closed() {
      return session.closed;
    },
    script: (text, options) => script(session, text, options),
    upload: (source, path, options) => upload(session, source, path, options),
    durable: (spec, options) => durable(session, spec, options),
    follow: (id, options) => session.follow(id, options),
    socketAgent: (path) =>
      path === HostPaths.socket ? withCountedRequests(session.socketAgent(path)) : session.socketAgent(path),
    lock: async (owner, options) => {
      const lock = await session.lock(owner, options);
      locked = true;
      return lock;
    },
    close: () => session.close(),
  };
}

/** First line of scripts that change a host but are not durable; facts and locks begin differently. */
const change = 'set -eu\n';

async function script(session: Session, text: string, options?: ScriptOptions): Promise<ScriptResult> {
  if (text.includes('systemctl reboot')) {
    const result = await session.script(text, options);
    effect('reboot');
    return result;
  }
  if (text.includes('azp-fleet-simulation')) return remembered(session, text, options);
  if (!text.startsWith(change)) return session.script(text, options);
  const name = `script ${sha256(text).slice(0, 6)}`;
  if (signal !== 'SIGKILL') {
    const result = await session.script(text, options);
    effect(name);
    return result;
  }
  const result = await session.script(traced(text, survivedOf(name), 'kill -9 $$'), options);
  await exitIfKilled(session, name);
  return result;
}

/**
 * Runs an apt simulation once and returns its saved result in later runs: it takes seconds and changes nothing. Each
 * killed run has less to do than the one before, so the first result is a bound for all of them.
 */
async function remembered(session: Session, text: string, options?: ScriptOptions): Promise<ScriptResult> {
  const file = `${process.env[effectsVariable] ?? ''}.${sha256(text).slice(0, 12)}`;
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as ScriptResult;
  const result = await session.script(text, options);
  if (result.code === 0) writeFileSync(file, JSON.stringify(result));
  return result;
}

async function durable(
  session: Session,
  spec: DurableSpec,
  options: Parameters<Session['durable']>[1],
): Promise<DurableResult> {
  const name = spec.id.replace(/-[0-9a-f]{10}(-\d+)?$/, '');
  if (signal !== 'SIGKILL') return signalledDurable(session, spec, options, name);
  const kill = `systemctl kill -s KILL azp-fleet-change-${spec.id}.service`;
  try {
    return await session.durable({ ...spec, script: traced(spec.script, survivedOf(name), kill) }, options);
  } finally {
    await exitIfKilled(session, name);
  }
}

/** A durable change with a signal at its start and one at its end; it continues on the host. */
async function signalledDurable(
  session: Session,
  spec: DurableSpec,
  options: Parameters<Session['durable']>[1],
  name: string,
): Promise<DurableResult> {
  const started = sh`systemctl is-active -q ${`azp-fleet-change-${spec.id}.service`} && echo yes || :`;
  const watch = setInterval(() => {
    void session.script(started, { totalTimeoutMs: 15_000 }).then(
      ({ stdout }) => {
        if (stdout === 'yes\n') effect(`${name}: started`);
      },
      () => undefined,
    );
  }, 300);
  try {
    return await session.durable(spec, options);
  } finally {
    clearInterval(watch);
    effect(`${name}: ended`);
  }
}

/** Returns the effects of this script after which a run was already killed. */
function survivedOf(name: string): readonly string[] {
  return survived().flatMap((line) => {
    const [script = '', ...rest] = line.split(': ');
    const text = rest.join(': ');
    const everywhere = Object.values(shared).some((each) => text.startsWith(each));
    return script === name || everywhere ? [text] : [];
  });
}

/** Kills this process if the script was killed, or after its last effect. */
async function exitIfKilled(session: Session, name: string): Promise<void> {
  const files = sh`cd ${traceFolder}; cat killed pending 2>/dev/null; sed 's/^/unknown command: /' unknown 2>/dev/null; :`;
  const { stdout } = await session.script(files, { totalTimeoutMs: 15_000 });
  const [last] = stdout.split('\n').filter(Boolean);
  if (last !== undefined) killSelf(`${name}: ${last}`);
}

/** Uploads half of the content, then the rest; each is an effect. */
async function upload(
  session: Session,
  source: UploadSource,
  path: string,
  options: UploadOptions,
): Promise<boolean> {
  const place = path.replaceAll(/\/[0-9a-f]{12}\//g, '/ID/');
  if ('bytes' in source && !survived().includes(`half of ${place}`)) {
    const part = `${path}.${sha256(source.bytes).slice(0, 16)}.part`;
    const half = Buffer.from(source.bytes)
      .subarray(0, source.bytes.length / 2)
      .toString('base64');
    const text = sh`umask 077; mkdir -p "$(dirname ${path})"; echo ${half} | base64 -d >${part}`;
    await session.script(text, { totalTimeoutMs: 15_000 });
    effect(`half of ${place}`);
  }
  const onProgress: UploadOptions['onProgress'] = (sent, total) => {
    if (sent < total) effect(`half of ${place}`);
    options.onProgress?.(sent, total);
  };
  const wasSent = await session.upload(source, path, { ...options, onProgress });
  if (wasSent) effect(place);
  return wasSent;
}

/** True while changes run: a caller that reads the manager's status then drains it or waits for it. */
let locked = false;

/** Makes each answered request to the manager an effect. */
function withCountedRequests(agent: Agent): Agent {
  type Open = (options: unknown, done: (error: Error | null, stream: Duplex) => void) => unknown;
  const real = agent as unknown as { readonly createConnection: Open };
  const open: Open = real.createConnection.bind(agent);
  return Object.assign(agent, {
    createConnection: (options: unknown, done: Parameters<Open>[1]) =>
      open(options, (error, stream) => {
        if (error === null) watch(stream);
        done(error, stream);
      }),
  });
}

function watch(stream: Duplex): void {
  let request = '';
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
  Object.assign(stream, {
    write: (chunk: unknown, ...rest: unknown[]) => {
      request += String(chunk);
      return write(chunk, ...rest);
    },
  });
  stream.on('data', () => {
    const [line = ''] = request.split(' HTTP/');
    if (line.startsWith('POST')) effect(line);
    else if (locked && line === 'GET /v1/status') effect('manager status read under the lock');
  });
}
