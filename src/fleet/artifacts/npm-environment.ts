import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Proxy } from '../inventory/fleet.ts';

/** What the inventory says of the way to npm's packages. */
export interface NpmSite {
  readonly proxy: Pick<Proxy, 'http' | 'https' | 'noProxy'>;
  /** The site's certificate authority. */
  readonly caPem: string | undefined;
  /** In the place of https://registry.npmjs.org. */
  readonly registry: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment with the inventory's network in it. npm reads proxies from these variables only where its own files name
 * none; the registry it is told, because an inventory that names a mirror means it. Certificates are added to those that
 * Node trusts and to those of the caller's own file, in one file in `folder`.
 */
export async function npmEnvironment(env: Environment, site: NpmSite, folder: string): Promise<Environment> {
  const { proxy, caPem, registry } = site;
  const { http, https, noProxy } = proxy;
  return {
    ...env,
    ...(http === undefined ? {} : both('http_proxy', http)),
    ...(https === undefined ? {} : both('https_proxy', https)),
    ...(noProxy.length === 0 ? {} : both('no_proxy', noProxy.join(','))),
    ...(registry === undefined ? {} : { npm_config_registry: registry }),
    ...(caPem === undefined
      ? {}
      : { NODE_EXTRA_CA_CERTS: await withOwn(env['NODE_EXTRA_CA_CERTS'], caPem, folder) }),
  };
}

/** Programs look for either spelling first. */
function both(name: string, value: string): Record<string, string> {
  return { [name]: value, [name.toUpperCase()]: value };
}

async function withOwn(own: string | undefined, caPem: string, folder: string): Promise<string> {
  const before = own === undefined ? '' : await readFile(own, 'utf8').catch(() => '');
  const file = join(folder, 'ca.pem');
  await writeFile(file, `${before}\n${caPem}`, { mode: 0o600 });
  return file;
}
