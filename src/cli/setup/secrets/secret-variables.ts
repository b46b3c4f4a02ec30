/** What a name has that stands for a secret. */
const secret = /TOKEN|PASSW|SECRET|(^|_)PAT($|_)/i;
/** What our own secret is called: what else looks like one, a ProxyCommand may need to reach a host. */
const ours = /^(AZP|ADO|AZURE_?DEVOPS|SYSTEM)_?.*(TOKEN|PASSW|SECRET)|(^|_)PAT($|_)|^SUDO_PASSW/i;

/** Before there is an inventory nothing says which variables hold secrets: those that look like any. */
function looksSecret(name: string): boolean {
  return secret.test(name);
}

/** Those that look like the token or the passwords of a fleet. */
export function looksOurs(name: string): boolean {
  return ours.test(name);
}

/** An environment without them, for programs that setup starts. */
export function harmless<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !looksSecret(name)));
}
