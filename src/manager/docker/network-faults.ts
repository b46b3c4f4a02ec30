import { BlockList, isIPv4 } from 'node:net';
import type Docker from 'dockerode';
import { agentBridge, agentNetwork, Labels } from '../../shared/contract/paths.ts';
import type { FoundNetwork } from '../../shared/engine/engine.ts';
import { closedAddresses } from './fence-rules.ts';

const ours = { [Labels.kind]: 'network' };
const bridgeName = 'com.docker.network.bridge.name';
const containersTalk = 'com.docker.network.bridge.enable_icc';

/** A bridge of a fixed name, by which the fence knows it, and on which containers do not see each other. */
export const agentNetworkOptions: Docker.NetworkCreateOptions = {
  Name: agentNetwork,
  Driver: 'bridge',
  // Said, because `default-network-opts` in daemon.json may say otherwise.
  EnableIPv6: false,
  Labels: ours,
  Options: { [bridgeName]: agentBridge, [containersTalk]: 'false' },
};

/** What the engine's own defaults may add without opening anything; undefined: whatever it is. */
const harmless: ReadonlyMap<string, string | undefined> = new Map([
  ['com.docker.network.driver.mtu', undefined],
  ['com.docker.network.container_iface_prefix', undefined],
  // Agents publish no ports.
  ['com.docker.network.bridge.host_binding_ipv4', undefined],
  ['com.docker.network.bridge.enable_ip_masquerade', 'true'],
  ['com.docker.network.bridge.default_bridge', 'false'],
  ['com.docker.network.bridge.gateway_mode_ipv4', 'nat'],
  ['com.docker.network.enable_ipv4', 'true'],
  ['com.docker.network.enable_ipv6', 'false'],
]);

/** Made by a manager: then it may be made anew. */
export function isOurs({ labels }: Pick<FoundNetwork, 'labels'>): boolean {
  return Object.entries(ours).every(([key, value]) => labels[key] === value);
}

/** Where a network of the agents' name is not the one that the fence stands around, as parts of a sentence. Pure. */
export function networkFaults(found: FoundNetwork): readonly string[] {
  return [
    isOurs(found) ? '' : 'somebody else made it',
    found.driver === 'bridge' ? '' : `its driver is ${found.driver}`,
    ...found.subnets.map(subnetFault),
    found.ipam === 'default' ? '' : `its addresses come from ${found.ipam}`,
    found.ipv6 ? 'it has IPv6' : '',
    found.internal ? 'it is internal' : '',
    found.attachable ? 'it is attachable' : '',
    ...optionFaults(found.options),
  ].filter((fault) => fault !== '');
}

function optionFaults(options: FoundNetwork['options']): readonly string[] {
  const bridge = options[bridgeName];
  const others = Object.entries(options).filter(
    ([key, value]) =>
      key !== bridgeName &&
      key !== containersTalk &&
      (!harmless.has(key) || (harmless.get(key) ?? value) !== value),
  );
  return [
    bridge === agentBridge ? '' : `its bridge is not ${agentBridge}`,
    options[containersTalk] === 'false' ? '' : 'its containers reach each other',
    ...others.map(([key, value]) => `its option ${key} is ${value}`),
  ];
}

/** What is on its own link is not routed, and the fence is made of routing rules. */
function subnetFault(subnet: string): string {
  const closed = closedAddresses['-4'].find((address) => overlap(address, subnet));
  return closed === undefined ? '' : `its addresses ${subnet} are metadata addresses, too`;
}

function overlap(one: string, other: string): boolean {
  return holds(one, other) || holds(other, one);
}

function holds(network: string, other: string): boolean {
  const [[address = '', length], [inside = '']] = [network.split('/'), other.split('/')];
  if (!isIPv4(address) || !isIPv4(inside)) return false;
  const list = new BlockList();
  list.addSubnet(address, Math.min(Number(length) || 32, 32), 'ipv4');
  return list.check(inside, 'ipv4');
}
