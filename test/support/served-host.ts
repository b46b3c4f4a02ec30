import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type HostileHost, hostileHost } from './hostile-host.ts';
import { ManagerRig } from './manager-rig.ts';

/** A host with a running manager, as the CLI reaches it over ssh: h200-1 of `inventory.yaml` in the rig's folder. */
export interface ServedHost {
  readonly rig: ManagerRig;
  readonly host: HostileHost;
  close(): Promise<void>;
}

/** The environment with the login password of the host. */
export const servedEnv = { LOGIN: 'a-login-password' };

/** Resolves once all slots are idle. `onScript`: called with each script that the host gets; it answers all with nothing. */
export async function serveHost(onScript: (script: string) => void = () => undefined): Promise<ServedHost> {
  const rig = await ManagerRig.create();
  const host = await hostileHost({
    managerSocket: rig.socket,
    answer: (script) => {
      onScript(script);
      return {};
    },
  });
  writeFileSync(
    join(rig.directory, 'inventory.yaml'),
    `organization: ${rig.fake.organization}
token: { env: NONE }
defaults: { pool: gpu-lab, sshConfig: none, user: lab, loginPassword: { env: LOGIN } }
hosts: { h200-1: { address: 127.0.0.1, port: ${host.port} } }
`,
  );
  await rig.start();
  await rig.until('idle');
  return {
    rig,
    host,
    close: () => {
      host.close();
      return rig.close();
    },
  };
}
