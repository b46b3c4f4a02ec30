// The user of steps inside a job's container: with the agent's uid and gid, and with sudo. Real: the commands, their
// order, and that a failed command fails the job, except the last ones. Stand-in: no Alpine.
import { execFileSync } from 'node:child_process';

const suffix = '_azpcontainer';
const sudoGroup = 'azure_pipelines_sudo';
const alpine = "if [[ -e '/etc/alpine-release' ]]; then echo 'Alpine-based image detected.'; fi";

const outside = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' }).trim();
const inside = (name) => `${name.slice(0, 32 - suffix.length)}${suffix}`;

/** @param {import('./docker.mjs').Docker} docker */
export async function makeUser(docker, id, say) {
  await docker.exec(id, ['sh', '-c', 'command -v bash']);
  const agent = outside('whoami');
  const uid = outside('id', '-u', agent);
  say(`Try to create a user with UID '${uid}' inside the container.`);
  const names = await docker.exec(id, ['bash', '-c', `getent passwd ${uid} | cut -d: -f1 `]);
  const known = await firstUser(docker, id, names);
  const [isAlpine] = await docker.exec(id, ['bash', '-c', alpine]);
  if (isAlpine !== undefined) throw new Error('the stand-in knows no way to add a user to Alpine');
  const name = known ?? inside(agent);
  if (known === undefined) await addUser(docker, id, { agent, uid, name });
  say(`Grant user '${name}' SUDO privilege and allow it run any command without authentication.`);
  await docker.exec(id, ['groupadd', sudoGroup]);
  await docker.exec(id, ['usermod', '-a', '-G', sudoGroup, name]);
  await docker.exec(id, ['su', '-c', `echo '%${sudoGroup} ALL=(ALL:ALL) NOPASSWD:ALL' >> /etc/sudoers`]);
  await tryNode(docker, id);
  return { uid, home: `/home/${name}` };
}

async function firstUser(docker, id, names) {
  for (const name of names) {
    const { code } = await docker.run(['exec', id, 'id', '-u', name], { quiet: true });
    if (code === 0) return name;
  }
  return undefined;
}

/** Asks the agent's Node 24 for its version, and Node 20 if the image's C library is too old; a failure is ignored. */
async function tryNode(docker, id) {
  const version = (folder) =>
    docker.run(['exec', id, 'bash', '-c', `/__a/externals/${folder}/bin/node -v`], { quiet: true });
  const { lines } = await version('node24');
  if (lines.some((line) => /version `GLIBC_2\.2[578]' not found/u.test(line))) await version('node20_1');
}

/** Adds the user with the agent's group if its number differs from the user's and is free in the container. */
async function addUser(docker, id, { agent, uid, name }) {
  const gid = outside('id', '-g', agent);
  const plain = ['useradd', '-m', '-u', uid, name];
  if (gid === uid) return docker.exec(id, plain);
  const group = inside(outside('id', '-gn', agent));
  try {
    await docker.exec(id, ['groupadd', '-g', gid, group]);
    return await docker.exec(id, ['useradd', '-m', '-g', group, '-u', uid, name]);
  } catch {
    return docker.exec(id, plain);
  }
}
