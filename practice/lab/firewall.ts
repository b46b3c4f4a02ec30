import { network } from './paths.ts';
import { run } from './run.ts';

const mark = `azp-fleet-lab-${network.bridge}`;
const comment = ['-m', 'comment', '--comment', mark];

const rules: readonly (readonly [table: string, chain: string, ...rest: string[]])[] = [
  ['nat', 'POSTROUTING', '-s', network.subnet, '!', '-d', network.subnet, '-j', 'MASQUERADE'],
  ['filter', 'INPUT', '-i', network.bridge, '-j', 'ACCEPT'],
  ['filter', 'FORWARD', '-i', network.bridge, '-j', 'ACCEPT'],
  ['filter', 'FORWARD', '-o', network.bridge, '-j', 'ACCEPT'],
];

/** Lets the hosts and their networks reach each other and the outside world. */
export async function addRules(): Promise<void> {
  for (const [table, chain, ...rest] of rules) {
    const rule = [chain, ...rest, ...comment];
    const found = await run('iptables', ['-w', '-t', table, '-C', ...rule], { allowFailure: true });
    if (found.code !== 0) await run('iptables', ['-w', '-t', table, '-I', ...rule]);
  }
}

/** Deletes every rule of the lab's, black holes included. */
export async function deleteRules(): Promise<void> {
  for (const table of ['nat', 'filter']) {
    // By a shell: after an interrupted clean-up the program may already be removed.
    const { stdout } = await run('/bin/sh', ['-c', `iptables -w -t ${table} -S`], { allowFailure: true });
    const ours = stdout.split('\n').filter((line) => line.startsWith('-A') && line.includes(mark));
    for (const line of ours) await run('iptables', ['-w', '-t', table, '-D', ...line.split(' ').slice(1)]);
  }
}

/** Drops every packet between this machine and one host: lost, not refused. */
export async function setBlackHole(address: string, on: boolean): Promise<void> {
  const chains = [
    ['INPUT', '-s', address],
    ['OUTPUT', '-d', address],
    ['FORWARD', '-s', address],
    ['FORWARD', '-d', address],
  ];
  for (const chain of chains) {
    const [name = '', ...match] = chain;
    const rule = [name, ...match, '-j', 'DROP', ...comment];
    const found = await run('iptables', ['-w', '-C', ...rule], { allowFailure: true });
    if (on && found.code !== 0) await run('iptables', ['-w', '-I', ...rule]);
    if (!on && found.code === 0) await run('iptables', ['-w', '-D', ...rule]);
  }
}

/**
 * Limits a host's network to this machine: SSH, and these ports. `stop` opens it again; `dropped` counts the
 * packets for others that it has lost so far.
 */
export async function closeNetwork(
  address: string,
  ports: readonly number[],
): Promise<{ readonly dropped: () => Promise<number>; readonly stop: () => Promise<void> }> {
  const from = ['-s', address];
  const tcp = [...from, '-p', 'tcp'];
  // Each goes before the one above it.
  const added = [
    ['INPUT', ...from, '-j', 'DROP'],
    ['FORWARD', ...from, '-j', 'DROP'],
    ...ports.map((port) => ['INPUT', ...tcp, '--dport', String(port), '-j', 'ACCEPT']),
    ['INPUT', ...tcp, '--sport', '22', '-j', 'ACCEPT'],
  ].map(([chain = '', ...match]) => [chain, ...match, ...comment]);
  for (const rule of added) await run('iptables', ['-w', '-I', ...rule]);
  return {
    dropped: async () => {
      const { stdout } = await run('iptables-save', ['-c', '-t', 'filter']);
      const lines = stdout
        .split('\n')
        .filter((line) => line.includes(mark) && line.includes(`${address}/32`) && line.includes('DROP'));
      return lines.reduce((sum, line) => sum + Number(/^\[(\d+):/.exec(line)?.[1] ?? 0), 0);
    },
    stop: async () => {
      for (const rule of added) await run('iptables', ['-w', '-D', ...rule]);
    },
  };
}
