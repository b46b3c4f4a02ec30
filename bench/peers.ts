import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from '../practice/lab/machine.ts';
import type { Program } from './measure.ts';

/** Hosts that all tools reach in the same way. */
export interface Hosts {
  /** For the tools' files. */
  readonly folder: string;
  /** Name → address. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly user: string;
  readonly port: number;
  readonly key: string;
  readonly knownHosts: string;
}

/** Hosts at the same time, for all. It is the default of azp-fleet and the usual number for Ansible. */
export const parallel = 50;

const peers = join(import.meta.dirname, 'peers');

/** Installs the tools from Debian, and returns their versions. */
export async function installPeers(): Promise<string> {
  await ensurePackages({
    'ansible-core': 'ansible',
    clustershell: 'clush',
    pdsh: 'pdsh',
    'openssh-client': 'ssh',
  });
  const names = ['ansible-core', 'clustershell', 'pdsh', 'openssh-client'];
  const args = ['-W', '-f', '${Package} ${source:Upstream-Version}\\n', ...names];
  return execFileSync('dpkg-query', args, { encoding: 'utf8' }).trim().replaceAll('\n', ', ');
}

/** Options of OpenSSH that make every tool reach the hosts alike. */
function sshOptions({ user, port, key, knownHosts }: Hosts): string {
  const settings = {
    Port: port,
    User: user,
    IdentityFile: key,
    IdentitiesOnly: 'yes',
    BatchMode: 'yes',
    UserKnownHostsFile: knownHosts,
    StrictHostKeyChecking: 'yes',
    LogLevel: 'ERROR',
    ConnectTimeout: 120,
  };
  return ['-F none', ...Object.entries(settings).map(([name, value]) => `-o ${name}=${value}`)].join(' ');
}

/** Writes the addresses, one a line, for the tools that read such a file. */
export function addressFile({ folder, addresses }: Hosts): string {
  const file = join(folder, 'hosts');
  writeFileSync(file, `${Object.values(addresses).join('\n')}\n`);
  return file;
}

/** One command on all hosts, by each tool that is no configuration management. */
export function execPrograms(hosts: Hosts, command: string): Readonly<Record<string, Program>> {
  const options = sshOptions(hosts);
  const file = addressFile(hosts);
  return {
    clush: {
      command: [
        'clush',
        '--hostfile',
        file,
        '-f',
        `${parallel}`,
        '-t',
        '120',
        '-S',
        '-q',
        '-o',
        options,
        command,
      ],
    },
    pdsh: {
      command: ['pdsh', '-R', 'ssh', '-l', hosts.user, '-w', `^${file}`, '-f', `${parallel}`, '-S', command],
      env: { PDSH_SSH_ARGS_APPEND: options },
    },
    'xargs ssh': xargsSsh(hosts, command),
  };
}

/** `script`: a file for the standard input of the command on each host. */
export function xargsSsh(hosts: Hosts, command: string, script = '/dev/null'): Program {
  const one = `ssh ${sshOptions(hosts)} {} ${command} <${script} >/dev/null`;
  return { command: ['xargs', `-P${parallel}`, '-I{}', 'sh', '-c', one], input: addressFile(hosts) };
}

/** Ansible on these hosts; `vars`: more variables of each. Every run has its own folder for open connections and facts. */
export function ansible(
  hosts: Hosts,
  args: readonly string[],
  vars: Readonly<Record<string, object>> = {},
): Program {
  const folder = mkdtempSync(join(hosts.folder, 'a'));
  mkdirSync(join(folder, 'c'));
  const inventory = join(folder, 'hosts.json');
  const entries = Object.entries(hosts.addresses).map(([name, address]) => [
    name,
    { ansible_host: address, ...vars[name] },
  ]);
  const common = {
    ansible_user: hosts.user,
    ansible_port: hosts.port,
    ansible_ssh_private_key_file: hosts.key,
    ansible_ssh_common_args: `-o UserKnownHostsFile=${hosts.knownHosts} -o IdentitiesOnly=yes -o ConnectTimeout=120`,
  };
  writeFileSync(inventory, JSON.stringify({ all: { hosts: Object.fromEntries(entries), vars: common } }));
  return {
    command: [...args, '-i', inventory],
    cwd: peers,
    env: {
      ANSIBLE_CONFIG: join(peers, 'ansible.cfg'),
      ANSIBLE_HOME: folder,
      ANSIBLE_SSH_CONTROL_PATH_DIR: join(folder, 'c'),
      ANSIBLE_CACHE_PLUGIN_CONNECTION: join(folder, 'facts'),
      LC_ALL: 'C.UTF-8',
    },
  };
}
