import type { Engine } from '../engine/engine.ts';
import { Labels } from '../contract/paths.ts';
import type { Logger } from '../base/log.ts';
import type { RunCommand } from './command.ts';
import { agentNetwork } from './container.ts';

const bridge = 'azp-fleet0';

/**
 * Where clouds hand out their machines' identities, by plain HTTP: 169.254.169.254 (all), 168.63.129.16 (Azure's
 * agent). Only HTTP is closed: some clouds answer names on the same address.
 */
const metadata: readonly (readonly [address: string, port: number])[] = [
  ['169.254.169.254', 80],
  ['168.63.129.16', 80],
  ['168.63.129.16', 32526],
];

/** The network of the agents: they do not see each other, and no job reaches the cloud's metadata. */
export async function raiseFence(engine: Engine, command: RunCommand, log: Logger): Promise<void> {
  await engine.ensureNetwork(agentNetwork, {
    Name: agentNetwork,
    Driver: 'bridge',
    Labels: { [Labels.kind]: 'network' },
    Options: {
      'com.docker.network.bridge.name': bridge,
      'com.docker.network.bridge.enable_icc': 'false',
    },
  });
  // Routing rules, not firewall rules: they survive a reload of whatever firewall the host has.
  const present = await command('ip', ['rule', 'show'], 10_000);
  if (present.code !== 0) {
    log.log('warn', 'cannot close the metadata address: the ip program does not work', {
      seen: present.output,
    });
    return;
  }
  for (const [address, port] of metadata) {
    if (present.output.split('\n').some((line) => closes(line, address, port))) continue;
    const rule = ['iif', bridge, 'to', `${address}/32`, 'ipproto', 'tcp', 'dport', String(port), 'prohibit'];
    const added = await command('ip', ['rule', 'add', ...rule], 10_000);
    if (added.code !== 0) log.log('warn', 'cannot close a metadata address', { address, seen: added.output });
  }
}

function closes(line: string, address: string, port: number): boolean {
  return line.includes(`to ${address} `) && line.includes(`iif ${bridge}`) && line.includes(`dport ${port} `);
}
