import { accessSync, constants, statSync } from 'node:fs';

import { type Problem, whyNot } from '../../shared/base/errors.ts';
import type { Fleet, HostSpec, SecretSource } from './fleet.ts';
import { foldNames } from './fold-names.ts';
import { credentialSource, expiryWarning, writeIt } from './secret.ts';

interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: number;
}

/**
 * Reports missing files and variables that the inventory refers to, without prompts and commands. Also reports
 * variables unset in this shell (`inventory.variable`), and credentials that expire soon (`inventory.token-expires`).
 */
export function checkReferences(fleet: Fleet, place: Place): Problem[] {
  const { credential, proxy } = fleet;
  const main = credentialSource(fleet);
  const sources = [
    ...sharedSources(fleet, 'the sudo password of', ({ ssh }) => ssh.sudoPassword),
    ...sharedSources(fleet, 'the login password of', ({ ssh }) => ssh.loginPassword),
    ...sharedSources(fleet, 'the webhook of', ({ webhook }) => webhook?.url),
  ];
  const registries = Object.entries(fleet.registries).map(([registry, { secret }]) => ({
    purpose: `the password for ${registry}`,
    source: secret,
  }));
  const expiry = expiryWarning(credential.expires, place.now);
  const keys = new Set(fleet.hosts.flatMap(({ ssh }) => ssh.identityFile ?? []));
  return [
    ...[{ purpose: 'the token', source: main }, ...sources, ...registries].flatMap((each) =>
      missingSource(each, place),
    ),
    ...(expiry ? [expiry] : []),
    ...(proxy.ca === undefined
      ? []
      : missingFile(proxy.ca, 'the CA file', 'correct "ca:" in the inventory, or copy the file there')),
    ...[...keys].flatMap((file) =>
      missingFile(file, 'the private key', 'correct identityFile in the inventory, or copy the key there'),
    ),
  ];
}

/** Returns the secrets of hosts; hosts with the same source are joined. */
function sharedSources(
  { hosts }: Fleet,
  whose: string,
  sourceOf: (host: HostSpec) => SecretSource | undefined,
): readonly { readonly purpose: string; readonly source: SecretSource }[] {
  const found = hosts.flatMap((host) => {
    const source = sourceOf(host);
    return source === undefined ? [] : [{ name: host.name, source }];
  });
  const places = Map.groupBy(found, ({ source }) => JSON.stringify(source));
  return [...places.values()].flatMap((group) => {
    const names = foldNames(group.map(({ name }) => name));
    return group.slice(0, 1).map(({ source }) => ({ purpose: `${whose} ${names}`, source }));
  });
}

function missingSource(
  { purpose, source }: { purpose: string; source: SecretSource },
  { env }: Place,
): Problem[] {
  if ('env' in source && !env[source.env])
    return [
      {
        code: 'inventory.variable',
        step: 'inventory',
        what: `${purpose}: environment variable ${source.env} is not set`,
        next: `read -rs ${source.env} && export ${source.env}`,
      },
    ];
  if (!('file' in source)) return [];
  const missing = missingFile(source.file, `the file of ${purpose}`, writeIt(source.file));
  if (missing.length > 0) return missing;
  const mode = statSync(source.file).mode & 0o777;
  if ((mode & 0o077) === 0) return [];
  return [
    {
      code: 'inventory.secret',
      step: 'inventory',
      what: `${purpose} is in a file that other users can read: ${source.file}`,
      expected: 'mode 0600',
      seen: `mode 0${mode.toString(8)}`,
      next: `chmod 600 ${source.file}`,
    },
  ];
}

function missingFile(file: string, what: string, next: string): Problem[] {
  try {
    accessSync(file, constants.R_OK);
    return [];
  } catch (error) {
    const seen = whyNot(error);
    return [
      { code: 'inventory.file', step: 'inventory', what: `${what} ${file} cannot be read`, seen, next },
    ];
  }
}
