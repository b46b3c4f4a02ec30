/** /etc/azp-fleet/registries (0600): user and password by registry, as images name it (`registry.example:5000`). */
export type RegistryLogins = Readonly<Record<string, { readonly user: string; readonly secret: string }>>;

/** The file's text: without a line's end, and in one order, so that equal logins have equal digests. */
export function registriesText(logins: RegistryLogins): string {
  const names = Object.keys(logins).sort();
  return JSON.stringify(names.map((registry) => ({ registry, ...logins[registry] })));
}

/** Undefined: it is not such a text. */
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
