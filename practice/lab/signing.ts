import { existsSync, mkdirSync } from 'node:fs';

import { inState } from './paths.ts';
import { run } from './run.ts';

export const signingHome = inState('gnupg');
export const keyring = inState('lab-key.gpg');
export const armoredKey = inState('lab-key.asc');

const gpg = (...args: readonly string[]): Promise<unknown> =>
  run('gpg', [
    '--homedir',
    signingHome,
    '--batch',
    '--yes',
    '--pinentry-mode',
    'loopback',
    '--passphrase',
    '',
    ...args,
  ]);

/** The key that signs the lab's apt repositories, created once. */
export async function ensureSigningKey(): Promise<void> {
  if (existsSync(armoredKey)) return;
  mkdirSync(signingHome, { recursive: true, mode: 0o700 });
  await gpg('--quick-generate-key', 'azp-fleet lab <lab@azp-fleet.invalid>', 'rsa3072', 'sign', 'never');
  await gpg('--output', keyring, '--export');
  await gpg('--armor', '--output', armoredKey, '--export');
  await stopAgent();
}

/** Writes InRelease and Release.gpg beside a Release file. */
export async function sign(release: string): Promise<void> {
  await gpg(
    '--digest-algo',
    'SHA512',
    '--clearsign',
    '--output',
    release.replace(/Release$/, 'InRelease'),
    release,
  );
  await gpg('--digest-algo', 'SHA512', '--detach-sign', '--armor', '--output', `${release}.gpg`, release);
}

export async function stopAgent(): Promise<void> {
  await run('gpgconf', ['--homedir', signingHome, '--kill', 'all'], { allowFailure: true });
}
