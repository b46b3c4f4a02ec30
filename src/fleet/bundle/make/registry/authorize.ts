import { z } from 'zod';

import { foreignJson } from '../../../../shared/base/foreign-text.ts';
import { Secret } from '../../../../shared/base/secret.ts';
import type { Download } from '../download.ts';
import { within } from './within.ts';
import type { Login } from './logins.ts';
import { loopback } from './name.ts';

const longestAnswer = 1 << 20;
const tokenShape = z
  .object({ token: z.string().min(1).optional(), access_token: z.string().min(1).optional() })
  .transform(({ token, access_token }) => token ?? access_token);

/** A header `Authorization` for what a registry has asked for by `WWW-Authenticate`; undefined: nothing of ours would do. */
export async function authorize(
  challenge: string,
  login: Login | undefined,
  { download, signal }: { readonly download: Download; readonly signal: AbortSignal },
): Promise<Secret | undefined> {
  if (/^basic\b/i.test(challenge)) return basic(login);
  if (!/^bearer\b/i.test(challenge)) return undefined;
  const said = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value]) => [name.toLowerCase(), value]),
  ) as Readonly<Record<string, string | undefined>>;
  const realm = URL.parse(said['realm'] ?? '');
  // No login goes to a token server that speaks in the clear.
  if (realm === null || (realm.protocol !== 'https:' && !loopback.test(realm.host))) return undefined;
  const { service = '', scope = '' } = said;
  const answer = await (login?.kind === 'token'
    ? download(realm.href, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: 'azp-fleet',
          refresh_token: login.token.reveal(),
          service,
          scope,
        }).toString(),
        redirect: 'manual',
        signal,
      })
    : download(withQuery(realm, { service, scope }), {
        method: 'GET',
        headers: header(basic(login)),
        redirect: 'manual',
        signal,
      }));
  if (answer.status !== 200 || answer.body === null) return undefined;
  const parts: Buffer[] = [];
  for await (const part of within(answer.body, longestAnswer)) parts.push(part);
  const token = tokenShape.safeParse(foreignJson(Buffer.concat(parts).toString())).data;
  return token === undefined ? undefined : new Secret(`Bearer ${token}`);
}

/** As a header of a request; none without. */
export function header(authorization: Secret | undefined): Record<string, string> {
  return authorization === undefined ? {} : { authorization: authorization.reveal() };
}

function basic(login: Login | undefined): Secret | undefined {
  if (login?.kind !== 'password') return undefined;
  const { user, password } = login;
  return new Secret(`Basic ${Buffer.from(`${user}:${password.reveal()}`).toString('base64')}`);
}

function withQuery(url: URL, values: Readonly<Record<string, string>>): string {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(values)) if (value !== '') whole.searchParams.set(name, value);
  return whole.href;
}
