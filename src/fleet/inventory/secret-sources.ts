import type { Secret } from '../../shared/base/secret.ts';
import type { Fleet, SecretSource } from './fleet.ts';
import { peekSecret } from './secret.ts';

type WithSecrets = Pick<Fleet, 'credential' | 'registries' | 'hosts'>;

/** The PAT, or the service principal's secret. */
export function credentialSource({ credential }: Pick<Fleet, 'credential'>): SecretSource {
  return credential.kind === 'pat' ? credential.token : credential.secret;
}

/** Where all secrets of the inventory are, each place once: credential, registries, passwords, webhooks. */
function secretSources(fleet: WithSecrets): SecretSource[] {
  const all = [
    credentialSource(fleet),
    ...Object.values(fleet.registries).map(({ secret }) => secret),
    ...fleet.hosts.flatMap(({ ssh, webhook }) =>
      [ssh.sudoPassword, ssh.loginPassword, webhook?.url].filter((source) => source !== undefined),
    ),
  ];
  return [...new Map(all.map((source) => [JSON.stringify(source), source])).values()];
}

/** Variables that hold secrets of the inventory: programs that we start do without them. */
export function secretVariables(fleet: WithSecrets): string[] {
  return secretSources(fleet).flatMap((source) => ('env' in source ? [source.env] : []));
}

/** The secrets that are known without asking anybody or running anything. */
export function peekSecrets(
  fleet: WithSecrets,
  env: Readonly<Record<string, string | undefined>>,
): readonly Secret[] {
  return secretSources(fleet).flatMap((source) => peekSecret(source, env) ?? []);
}
