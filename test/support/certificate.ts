import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes a self-signed certificate for client authentication. Returns key and certificate as PEM. */
export function selfSigned(
  folder: string,
  {
    name = 'client',
    key = ['rsa:2048'],
    days = 30,
  }: { name?: string; key?: readonly string[]; days?: number } = {},
): { readonly key: string; readonly certificate: string } {
  const [keyFile, file] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)];
  const subject = ['-subj', `/CN=${name}`, '-days', String(days)];
  const out = ['-keyout', keyFile, '-out', file];
  const options = ['-x509', '-nodes', '-newkey', ...key, ...subject, ...out];
  execFileSync('openssl', ['req', ...options], { stdio: 'ignore' });
  return { key: readFileSync(keyFile, 'utf8'), certificate: readFileSync(file, 'utf8') };
}
