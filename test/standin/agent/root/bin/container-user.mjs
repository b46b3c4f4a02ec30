// The user that steps have inside a job's container: of the agent's uid, with sudo. Real: the commands, their order, and
// that one which fails fails the job. Stand-in: no Alpine, and the gid is never the host's.
import { execFileSync } from 'node:child_process';

const sudoGroup = 'azure_pipelines_sudo';

/** @param {import('./docker.mjs').Docker} docker */
export async function makeUser(docker, id, say) {
  await docker.exec(id, ['sh', '-c', 'command -v bash']);
  const outside = execFileSync('whoami', { encoding: 'utf8' }).trim();
  const uid = execFileSync('id', ['-u', outside], { encoding: 'utf8' }).trim();
  say(`Try to create a user with UID '${uid}' inside the container.`);
  const [known] = await docker.exec(id, ['bash', '-c', `getent passwd ${uid} | cut -d: -f1 `]);
  const suffix = '_azpcontainer';
  const name = known ?? `${outside.slice(0, 32 - suffix.length)}${suffix}`;
  if (known === undefined) await docker.exec(id, ['useradd', '-m', '-u', uid, name]);
  say(`Grant user '${name}' SUDO privilege and allow it run any command without authentication.`);
  await docker.exec(id, ['groupadd', sudoGroup]);
  await docker.exec(id, ['usermod', '-a', '-G', sudoGroup, name]);
  await docker.exec(id, ['su', '-c', `echo '%${sudoGroup} ALL=(ALL:ALL) NOPASSWD:ALL' >> /etc/sudoers`]);
  return { uid, home: `/home/${name}` };
}
