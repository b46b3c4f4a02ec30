// The user that steps have inside a job's container: of the agent's uid, with sudo. Real: the commands, their order, and
// that one which fails fails the job. Stand-in: no Alpine, and the gid is never the host's.
import { execFileSync } from 'node:child_process';
import { dockerExec } from './docker.mjs';

const sudoGroup = 'azure_pipelines_sudo';

export async function makeUser(id) {
  await dockerExec(id, ['sh', '-c', 'command -v bash']);
  const outside = execFileSync('whoami', { encoding: 'utf8' }).trim();
  const uid = execFileSync('id', ['-u', outside], { encoding: 'utf8' }).trim();
  process.stdout.write(`Try to create a user with UID '${uid}' inside the container.\n`);
  const [known] = await dockerExec(id, ['bash', '-c', `getent passwd ${uid} | cut -d: -f1 `]);
  const suffix = '_azpcontainer';
  const name = known ?? `${outside.slice(0, 32 - suffix.length)}${suffix}`;
  if (known === undefined) await dockerExec(id, ['useradd', '-m', '-u', uid, name]);
  process.stdout.write(
    `Grant user '${name}' SUDO privilege and allow it run any command without authentication.\n`,
  );
  await dockerExec(id, ['groupadd', sudoGroup]);
  await dockerExec(id, ['usermod', '-a', '-G', sudoGroup, name]);
  await dockerExec(id, ['su', '-c', `echo '%${sudoGroup} ALL=(ALL:ALL) NOPASSWD:ALL' >> /etc/sudoers`]);
  return { uid, home: `/home/${name}` };
}
