// Replaces src/fleet/ssh/create-transport.ts in the CLI that kills itself: the real way to the hosts, which counts what it does there.
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
import { die, effect, effectsVariable, survived } from './effects.ts';
import { shared, traced, traceFolder } from './trace.ts';

export { connectionTools } from '../../../../src/fleet/ssh/create-transport.ts';

export function createTransport(parts: TransportParts): Transport {
  const real = createReal(parts);
  return {
    connect: async (target, options) => mortal(await real.connect(target, options)),
    close: () => real.close(),
  };
}

function mortal(session: Session): Session {
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
      path === HostPaths.socket ? telling(session.socketAgent(path)) : session.socketAgent(path),
    lock: async (owner, options) => {
      const lock = await session.lock(owner, options);
      locked = true;
      return lock;
    },
    close: () => session.close(),
  };
}

/** What changes by a script that is not durable begins so; facts and locks do not. */
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
  const result = await session.script(traced(text, of(name), 'kill -9 $$'), options);
  await fallen(session, name);
  return result;
}

/**
 * What apt would do is asked by no run that an earlier one has asked for: it takes seconds and leaves the host as it is.
 * Each run that is killed has less to do than the one before, so that its answer is a bound for all of them.
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
  const kill = `systemctl kill -s KILL azp-fleet-change-${spec.id}.service`;
  try {
    return await session.durable({ ...spec, script: traced(spec.script, of(name), kill) }, options);
  } finally {
    await fallen(session, name);
  }
}

/** The names of a script's own effects that are done with. */
function of(name: string): readonly string[] {
  return survived().flatMap((line) => {
    const [script = '', ...rest] = line.split(': ');
    const text = rest.join(': ');
    const everywhere = Object.values(shared).some((each) => text.startsWith(each));
    return script === name || everywhere ? [text] : [];
  });
}

/** Exits where the script did, or after its last effect. */
async function fallen(session: Session, name: string): Promise<void> {
  const files = sh`cd ${traceFolder}; cat killed pending 2>/dev/null; sed 's/^/unknown command: /' unknown 2>/dev/null; :`;
  const { stdout } = await session.script(files, { totalTimeoutMs: 15_000 });
  const [last] = stdout.split('\n').filter(Boolean);
  if (last !== undefined) die(`${name}: ${last}`);
}

/** Half of the content arrives, then the rest. */
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

/** Changes are running: a caller that reads the manager's status drains it or waits for it. */
let locked = false;

/** Its requests to the manager are effects when they have been answered. */
function telling(agent: Agent): Agent {
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
  let asked = '';
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
  Object.assign(stream, {
    write: (chunk: unknown, ...rest: unknown[]) => {
      asked += String(chunk);
      return write(chunk, ...rest);
    },
  });
  stream.on('data', () => {
    const [line = ''] = asked.split(' HTTP/');
    if (line.startsWith('POST')) effect(line);
    else if (locked && line === 'GET /v1/status') effect('the manager is asked under the lock');
  });
}
