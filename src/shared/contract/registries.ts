/** /etc/azp-fleet/registries (0600): user and password by registry, named as in image references (`registry.example:5000`). */
export type RegistryLogins = Readonly<Record<string, { readonly user: string; readonly secret: string }>>;

/** Returns the file's text, sorted and without a final newline, so that equal logins have equal digests. */
export function registriesText(logins: RegistryLogins): string {
  const names = Object.keys(logins).sort();
  return JSON.stringify(names.map((registry) => ({ registry, ...logins[registry] })));
}

/** Parses the file's text; undefined: invalid. */
export function readRegistries(text: string): RegistryLogins | undefined {
  const value = parsed(text);
  if (!Array.isArray(value) || !value.every(isEntry)) return undefined;
  return Object.fromEntries(value.map(({ registry, user, secret }) => [registry, { user, secret }]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isEntry(
  value: unknown,
): value is { readonly registry: string; readonly user: string; readonly secret: string } {
  const entry = Object(value) as Record<string, unknown>;
  return ['registry', 'user', 'secret'].every((key) => typeof entry[key] === 'string');
}
