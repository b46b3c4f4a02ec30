import { readFile } from 'node:fs/promises';
import { codeOf, FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { Secret } from '../../shared/base/secret.ts';

/**
 * Reads the webhook's address anew each time, so that a replaced one is taken up without a restart. It is a secret: whoever
 * has it may write to the room. The log hides it whole and what of it follows the host's name.
 */
export function addressReader(path: string, log: Logger): () => Promise<Secret> {
  return async () => {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw unusable(path, codeOf(error));
    });
    const address = new Secret(text.trim());
    log.redact(address);
    const url = URL.parse(address.reveal());
    if (url === null || !['https:', 'http:'].includes(url.protocol)) throw unusable(path, 'no address in it');
    for (const part of [`${url.pathname}${url.search}`, url.search, url.password])
      log.redact(new Secret(part));
    return address;
  };
}

function unusable(path: string, seen: string): FleetError {
  return new FleetError({
    code: 'webhook.unusable',
    what: `the address of the webhook cannot be read from ${path}`,
    expected: 'one http(s) address',
    seen,
    next: 'write it anew with azp-fleet provision',
  });
}
