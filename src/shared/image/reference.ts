/** Names of Docker Hub. */
const hubs = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/** Returns the registry of an image reference, as Docker reads it: `docker.io` when it names none. */
export function registryOf(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  const named = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return canonicalRegistry(named ? first : 'docker.io');
}

/** Returns the one name of a registry. */
export function canonicalRegistry(name: string): string {
  const lower = name.toLowerCase();
  return hubs.has(lower) ? 'docker.io' : lower;
}
