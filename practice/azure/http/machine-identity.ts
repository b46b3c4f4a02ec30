// The identity of the machine that asks: an Azure VM's metadata service, and Azure Arc's agent.
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';

import type { Fake } from '../world/fake.ts';
import { issuedToken, resource } from './entra.ts';
import { type Reply, ok } from './reply.ts';

const path = '/metadata/identity/oauth2/token';

const refusal = (status: number, error: string, description: string): Reply => ({
  status,
  json: { error, error_description: description },
});

/** Returns whether this server imitates a machine with an identity, and the request asks for it. */
export function asksMachine({ machine }: Fake, url: URL): boolean {
  return url.pathname === path && (machine.vm ?? machine.arc) !== undefined;
}

/** Answers a request for a token. Undefined: Azure Arc's agent listens on the machine's loopback address only. */
export function machineToken(
  fake: Fake,
  request: IncomingMessage,
  query: URLSearchParams,
): Reply | undefined {
  const { method, headers, socket } = request;
  const { arc, vm } = fake.machine;
  if (arc !== undefined && !/^(?:::ffff:)?127\.|^::1$/u.test(socket.remoteAddress ?? '')) return undefined;
  if (method !== 'GET') return refusal(405, 'method_not_allowed', 'Only GET requests are supported');
  if (headers['metadata']?.toString().toLowerCase() !== 'true')
    return refusal(400, 'invalid_request', 'Required metadata header not specified');
  // Against servers that pass requests of others on.
  if (headers['x-forwarded-for'] !== undefined)
    return refusal(400, 'invalid_request', 'X-Forwarded-For is not allowed');
  const versions = arc === undefined ? ['2018-02-01'] : ['2019-11-01', '2020-06-01'];
  if (!versions.includes(query.get('api-version') ?? ''))
    return refusal(400, 'bad_request', 'api-version was not specified, or is not supported');
  if (query.get('resource') !== resource)
    return refusal(400, 'invalid_resource', 'AADSTS500011: The resource was not found in the tenant.');
  const clientId = query.get('client_id');
  // Azure Arc gives each machine one identity.
  if (clientId !== null && clientId !== vm?.clientId)
    return refusal(400, 'invalid_request', 'Identity not found');
  return arc === undefined ? tokenAnswer(fake) : arcAnswer(fake, arc.keys, headers.authorization);
}

/** Answers with a challenge: only who can read the file that it names gets a token, once. */
function arcAnswer(fake: Fake, folder: string, authorization: string | undefined): Reply {
  const { challenge } = fake.machine;
  if (authorization === undefined) {
    const next = { file: join(folder, `${randomUUID()}.key`), key: randomUUID() };
    writeFileSync(next.file, next.key, { mode: 0o600 });
    fake.machine = { ...fake.machine, challenge: next };
    return { status: 401, json: {}, headers: { 'www-authenticate': `Basic realm=${next.file}` } };
  }
  if (challenge === undefined || authorization !== `Basic ${challenge.key}`)
    return refusal(401, 'unauthorized', 'Wrong challenge');
  rmSync(challenge.file, { force: true });
  fake.machine = { ...fake.machine, challenge: undefined };
  return tokenAnswer(fake);
}

/** Numbers are text here. */
function tokenAnswer(fake: Fake): Reply {
  const { expires_in: seconds, ...token } = issuedToken(fake);
  const nowS = Math.floor(fake.now() / 1000);
  const times = { expires_in: seconds, expires_on: nowS + seconds, not_before: nowS };
  const texts = Object.fromEntries(Object.entries(times).map(([name, value]) => [name, String(value)]));
  return ok({ ...token, resource, ...texts });
}
