import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

import { childEnvironment } from '../../../artifacts/child-environment.ts';
import { foreignJson } from '../../../../shared/base/foreign-text.ts';
import { Secret } from '../../../../shared/base/secret.ts';

/** What docker login has kept for one registry. */
export type Login =
  | { readonly kind: 'password'; readonly user: string; readonly password: Secret }
  /** For the registry's own token server, in the place of a password. */
  | { readonly kind: 'token'; readonly token: Secret };

const short = z.string().max(100_000).optional().catch(undefined);
const entry = z.object({ auth: short, identitytoken: short });
const shape = z.object({
  auths: z.record(z.string(), entry.catch({})).optional().catch(undefined),
  credHelpers: z
    .record(z.string(), z.string().regex(/^[\w.-]+$/))
    .optional()
    .catch(undefined),
  credsStore: z
    .string()
    .regex(/^[\w.-]+$/)
    .optional()
    .catch(undefined),
});
const helperShape = z.object({ Username: z.string(), Secret: z.string().min(1) });

/** Docker's name for its own registry in there is older than `docker.io`. */
const hub = 'https://index.docker.io/v1/';
const helperMs = 30_000;

/** The login of `docker login` on this machine, from its file or the helper that the file names. Undefined: there is none. */
export async function loginOf(
  registry: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Login | undefined> {
  const folder = env['DOCKER_CONFIG'] ?? join(env['HOME'] ?? homedir(), '.docker');
  const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => '');
  const config = shape.safeParse(foreignJson(text)).data;
  if (config === undefined) return undefined;
  const key = registry === 'docker.io' ? hub : registry;
  const helper = config.credHelpers?.[key] ?? config.credHelpers?.[registry] ?? config.credsStore;
  return (
    (helper && (await asked(helper, key, env))) ||
    kept(config.auths?.[key] ?? config.auths?.[`https://${key}`])
  );
}

function kept(found: z.infer<typeof entry> | undefined): Login | undefined {
  const { auth, identitytoken } = found ?? {};
  if (identitytoken) return { kind: 'token', token: new Secret(identitytoken) };
  const [, user, password] = /^([^:]+):([^]+)$/.exec(Buffer.from(auth ?? '', 'base64').toString()) ?? [];
  return user === undefined || password === undefined
    ? undefined
    : { kind: 'password', user, password: new Secret(password.replace(/\0+$/, '')) };
}

/** By Docker's credential helper; one that knows nothing ends with a failure. */
async function asked(
  helper: string,
  key: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Login | undefined> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = execFile(
    `docker-credential-${helper}`,
    ['get'],
    { env: childEnvironment(env), timeout: helperMs },
    (error, stdout) => resolve(error === null ? stdout : ''),
  );
  child.stdin?.on('error', () => undefined).end(key);
  const said = helperShape.safeParse(foreignJson(await promise)).data;
  if (said === undefined) return undefined;
  const secret = new Secret(said.Secret);
  return said.Username === '<token>'
    ? { kind: 'token', token: secret }
    : { kind: 'password', user: said.Username, password: secret };
}
