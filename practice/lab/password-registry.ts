import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { LabHost } from './host.ts';
import { network, ports } from './paths.ts';
import { run } from './run.ts';
import { ensureService, stopService } from './services.ts';
import { caCertificate, registryTls } from './tls.ts';

const name = 'password-registry';

/** Debian's docker-registry over TLS, which asks everybody who they are. */
export interface PasswordRegistry {
  /** `10.213.0.1:5444`, as images name it. */
  readonly address: string;
  readonly user: string;
  readonly password: string;
  /** The host's Docker trusts its certificate. */
  trustOn(host: LabHost): Promise<void>;
  stop(): Promise<void>;
}

/** A new one, whose images lie in the folder. */
export async function startPasswordRegistry(folder: string, password: string): Promise<PasswordRegistry> {
  const user = 'ci';
  const address = `${network.gateway}:${ports.passwordRegistry}`;
  const htpasswd = join(folder, 'htpasswd');
  writeFileSync(htpasswd, `${user}:${await bcrypt(password)}\n`, { mode: 0o600 });
  const config = {
    version: 0.1,
    log: { level: 'warn' },
    storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
    auth: { htpasswd: { realm: 'lab', path: htpasswd } },
    http: { addr: address, tls: registryTls },
  };
  const file = join(folder, 'registry.json');
  writeFileSync(file, JSON.stringify(config));
  await stopService(name);
  await ensureService({
    name,
    command: '/usr/bin/docker-registry',
    args: ['serve', file],
    port: ports.passwordRegistry,
  });
  return {
    address,
    user,
    password,
    trustOn: async (host) => {
      const { stdout: ca } = await run('cat', [caCertificate]);
      const folder = `/etc/docker/certs.d/${address}`;
      await host.exec(`mkdir -p ${folder} && cat >${folder}/ca.crt`, { input: ca });
    },
    stop: () => stopService(name),
  };
}

/** The one form of a password that the registry takes. Perl is on every Debian, and its crypt() knows bcrypt. */
async function bcrypt(password: string): Promise<string> {
  const script = 'chomp(my $p = <STDIN>); print crypt($p, q($2y$05$abcdefghijklmnopqrstuu))';
  const { stdout } = await run('perl', ['-e', script], { input: `${password}\n` });
  return stdout;
}
