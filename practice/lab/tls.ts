import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { type Server, createServer } from 'node:tls';

import { inState, network, ports } from './paths.ts';
import { run } from './run.ts';

export const caCertificate = inState('tls/ca.crt');
const certificate = inState('tls/registry.crt');
const key = inState('tls/registry.key');

/** The registry's configuration names them. */
export const registryTls = { certificate, key };

/** The lab's certificate authority and the registry's certificate, made once. */
export async function ensureCertificates(): Promise<void> {
  if (existsSync(certificate)) return;
  mkdirSync(inState('tls'), { recursive: true, mode: 0o700 });
  const make = (line: string, ...rest: readonly string[]): Promise<unknown> =>
    run('openssl', [...line.split(' '), ...rest], { cwd: inState('tls') });
  const fresh = '-newkey rsa:2048 -nodes -sha256';
  await make(`req -x509 ${fresh} -days 3650 -keyout ca.key -out ca.crt -subj`, '/CN=azp-fleet lab CA');
  await make(`req ${fresh} -keyout registry.key -out registry.csr -subj`, '/CN=azp-fleet lab registry');
  writeFileSync(inState('tls/san.cnf'), `subjectAltName=IP:${network.gateway},IP:127.0.0.1\n`);
  const signed = '-CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -sha256 -extfile san.cnf';
  await make(`x509 -req -in registry.csr ${signed} -out registry.crt`);
}

/** Writes the registry's configuration and returns its path. */
export function registryConfig(): string {
  const file = inState('registry.json');
  const config = {
    version: 0.1,
    log: { level: 'warn' },
    storage: { filesystem: { rootdirectory: inState('registry') } },
    http: { addr: `${network.gateway}:${ports.registry}`, tls: registryTls },
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** A certificate authority of a site (`ca.crt`) in a lab's folder, and its servers' certificate (`site.crt`, `site.key`). */
export async function makeCertificates(cwd: string, names: readonly string[]): Promise<void> {
  const openssl = (...args: readonly string[]) => run('openssl', args, { cwd });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const ca = ['-subj', '/CN=closed site CA', '-keyout', 'ca.key', '-out', 'ca.crt'];
  await openssl('req', '-x509', ...fresh, ...ca);
  const leaf = [
    '-subj',
    '/CN=server of the site',
    '-addext',
    `subjectAltName=${names.join(',')}`,
    '-addext',
    'basicConstraints=CA:FALSE',
  ];
  const by = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-keyout', 'site.key', '-out', 'site.crt'];
  await openssl('req', '-x509', ...fresh, ...leaf, ...by);
}

/** TLS with the site's certificate in front of a plain server, which is looked for at each connection. */
export async function startTls(
  folder: string,
  address: string,
  inner: { readonly hostname: string; readonly port: number },
): Promise<{ readonly server: Server; readonly port: number }> {
  const read = (file: string) => readFileSync(join(folder, file));
  const server = createServer({ key: read('site.key'), cert: read('site.crt') }, (client) => {
    const plain = connect(inner.port, inner.hostname);
    plain.pipe(client).pipe(plain);
    for (const socket of [client, plain])
      socket.on('error', () => void [client, plain].map((end) => end.destroy()));
  });
  await once(server.listen(0, address), 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}
