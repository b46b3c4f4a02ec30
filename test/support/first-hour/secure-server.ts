import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

import type { World } from './world.ts';

const authority = (folder: string): string => `[ca]
default_ca = own
[own]
new_certs_dir = ${folder}
database = ${folder}/ca.index
serial = ${folder}/ca.serial
default_md = sha256
policy = any
unique_subject = no
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = DNS:localhost
`;

/**
 * The organization behind TLS, with a separate certificate in `file`. `past`: it expired yesterday; after
 * `world.notes.get('valid')` it is valid.
 */
export async function secureServer(world: World, file: string, validity: 'past' | ''): Promise<string> {
  const key = world.path('key.pem');
  world.write('ca.conf', authority(world.folder));
  world.write('ca.index', '');
  const openssl = (...words: string[]) =>
    execFileSync('openssl', words, { cwd: world.folder, stdio: 'ignore' });
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key);
  openssl('req', '-new', '-key', key, '-subj', '/CN=localhost', '-out', 'request.pem');
  const make = (from: string, to: string) =>
    openssl(
      'ca',
      '-batch',
      '-notext',
      '-selfsign',
      '-rand_serial',
      '-config',
      'ca.conf',
      '-keyfile',
      key,
      '-in',
      'request.pem',
      '-startdate',
      from,
      '-enddate',
      to,
      '-out',
      file,
    );
  if (validity === 'past') make('20200101000000Z', '20200201000000Z');
  else make('20200101000000Z', '20991231000000Z');
  const pair = () => ({ key: readFileSync(key), cert: readFileSync(world.path(file)) });
  const { hostname, port } = new URL(world.azure.origin);
  const server = createServer(pair(), (asked, answer) => {
    const { method, url: path, headers } = asked;
    const on = request({ hostname, port, method, path, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    asked.pipe(on);
  });
  world.onEnd(() => server.close());
  await new Promise<void>((resolve) => void server.listen(0, 'localhost', resolve));
  world.notes.set('valid', () => {
    make('20200101000000Z', '20991231000000Z');
    server.setSecureContext(pair());
  });
  return `https://localhost:${(server.address() as AddressInfo).port}/lab`;
}
