import { existsSync, mkdirSync, writeFileSync } from 'node:fs';

import { inState, network, ports } from './paths.ts';
import { run } from './run.ts';

export const caCertificate = inState('tls/ca.crt');
const certificate = inState('tls/registry.crt');
const key = inState('tls/registry.key');

/** As registries are told of them. */
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
