import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';

import { run } from './run.ts';

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
