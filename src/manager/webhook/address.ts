import { codeOf, FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { Secret } from '../../shared/base/secret.ts';
import { readText } from '../machine/files.ts';

/**
 * Returns a function that reads the webhook's address each time, so that a new one needs no restart. The address is a secret,
 * because it permits posting: the log hides it, and the part after the host name.
 */
export function addressReader(path: string, log: Logger): () => Promise<Secret> {
  return async () => {
    const text = await readText(path).catch((error: unknown) => {
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
    next: 'write it again: azp-fleet provision',
  });
}
