// By hand: node practice/lab/cli.ts up PREFIX NAME:RELEASE:LOGIN:GPU+GPU … | down PREFIX | prepare | stop | clean
import { cleanLab, stopLab } from './clean.ts';
import { type HostRelease, hostReleases } from './dressed.ts';
import type { GpuModel } from './gpus.ts';
import { type HostOptions, type Login, logins } from './host.ts';
import { prepareLab, removeLab, startLab } from './lab.ts';

const usage = `usage: cli.ts prepare
       cli.ts up PREFIX NAME[:${hostReleases.join('|')}[:root|sudo|sudo-password[:GPU+GPU]]] …
       cli.ts down PREFIX
       cli.ts stop
       cli.ts clean`;

const [command, prefix, ...rest] = process.argv.slice(2);
if (command === 'prepare') await prepareLab();
else if (command === 'stop') await stopLab();
else if (command === 'clean') await cleanLab();
else if (command === 'down' && prefix !== undefined) await removeLab(prefix);
else if (command === 'up' && prefix !== undefined && rest.length > 0) await up(prefix, rest.map(parse));
else {
  process.stderr.write(`${usage}\n`);
  process.exitCode = 2;
}

async function up(name: string, hosts: readonly HostOptions[]): Promise<void> {
  const lab = await startLab({ prefix: name, hosts });
  for (const host of lab.hosts) {
    const gpus = host.gpus.map((gpu) => gpu.uuid).join(' ');
    process.stdout.write(`${host.name} ${host.address} ${host.release} ${host.login} ${gpus}\n`);
    process.stdout.write(`  ssh ${host.sshArguments().join(' ')}\n`);
  }
}

function parse(text: string): HostOptions {
  const [name = '', release = 'bookworm', login = 'root', gpus = 'h200'] = text.split(':');
  const isKnown = hostReleases.includes(release as HostRelease) && logins.includes(login as Login);
  if (name === '' || !isKnown) throw new Error(`cannot read the host ${text}\n${usage}`);
  return {
    name,
    release: release as HostRelease,
    login: login as Login,
    gpus: gpus === 'none' ? [] : (gpus.split('+') as GpuModel[]),
  };
}
