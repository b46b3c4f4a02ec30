/** Docker Hub under the names that it goes by. */
const hubs = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/** The registry that an image comes from, as Docker reads its name: `docker.io` when it names none. */
export function registryOf(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  const named = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return canonicalRegistry(named ? first : 'docker.io');
}

/** One name for each registry. */
export function canonicalRegistry(name: string): string {
  const lower = name.toLowerCase();
  return hubs.has(lower) ? 'docker.io' : lower;
}
