import { BlockList, isIPv4 } from 'node:net';
import { access } from 'node:fs/promises';
import type Docker from 'dockerode';
import {
  agentBridge,
  agentNetwork,
  fencePreferences as preferences,
  Labels,
} from '../../shared/contract/paths.ts';
import type { Engine, FoundNetwork } from '../../shared/engine/engine.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Cause, Slot } from '../model.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';

/** Whose connections: those from the agents' containers, or those of a user on the host. */
type Fenced = 'containers' | { readonly uid: number };

type Family = '-4' | '-6';

interface FenceRule {
  readonly family: Family;
  /** Arguments for `ip rule add`. */
  readonly args: readonly string[];
}

/**
 * Where clouds hand out their machines' identities: all that is link-local (169.254.169.254 nearly everywhere, 169.254.170.2
 * and .23 for containers on AWS, 169.254.42.42 at Scaleway, 169.254.0.23 at Tencent), 168.63.129.16 (Azure's agent),
 * 100.100.100.200 (Alibaba), 192.0.0.192 (Oracle's older cloud); by IPv6 the block of AWS (fd00:ec2::254, ::23), Google,
 * Oracle, Scaleway, Akamai, Alibaba, and link-local OpenStack. As their own documentation and cloud-init have them.
 */
export const closedAddresses: Readonly<Record<Family, readonly string[]>> = {
  '-4': ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
  '-6': [
    'fd00:ec2::/32',
    'fd20:ce::254/128',
    'fd00:c1::a9fe:a9fe/128',
    'fd00:42::42/128',
    'fd00:a9fe:a9fe::1/128',
    'fd00:100::100:200/128',
    'fe80::a9fe:a9fe/128',
  ],
};

/**
 * Names go past the closed addresses: Azure (168.63.129.16), AWS (169.254.169.253, fd00:ec2::253), Google and Oracle
 * (169.254.169.254) answer DNS on them.
 *
 * Routing rules, not firewall rules: they survive a reload of whatever firewall the host has. In the order in which they are
 * put up: without its target a jump is none, and names would be closed, too. Pure.
 */
export function fenceRules(fenced: readonly Fenced[]): readonly FenceRule[] {
  return (['-4', '-6'] as const).flatMap((family) => [
    { family, args: ['pref', preferences.past, 'nop'] },
    ...fenced.flatMap((who) => [
      ...['udp', 'tcp'].map((protocol) =>
        rule(family, preferences.names, who, `ipproto ${protocol} dport 53 goto ${preferences.past}`),
      ),
      ...closedAddresses[family].map((address) =>
        rule(family, preferences.closed, who, `to ${address} prohibit`),
      ),
    ]),
  ]);
}

/** Those of the rules that `ip rule show` does not show yet. Pure. */
export function missingRules(
  rules: readonly FenceRule[],
  shown: Readonly<Record<Family, string>>,
): readonly FenceRule[] {
  const there = {
    '-4': new Set(shown['-4'].split('\n').map(shownRule)),
    '-6': new Set(shown['-6'].split('\n').map(shownRule)),
  };
  return rules.filter(({ family, args }) => !there[family].has(wantedRule(args)));
}

function rule(family: Family, preference: string, who: Fenced, what: string): FenceRule {
  const selector = who === 'containers' ? `iif ${agentBridge}` : `uidrange ${who.uid}-${who.uid}`;
  return { family, args: `pref ${preference} ${selector} ${what}`.split(' ') };
}

function wantedRule([, preference = '', ...words]: readonly string[]): string {
  return comparable(preference, words);
}

/**
 * `50:	from all to 169.254.169.254 iif azp-fleet0 [detached] ipproto tcp dport 80 prohibit`: a rule's parts in an order of
 * its own. The marks in brackets say that the bridge is away, or the target of a jump. One word more or less is another rule.
 */
function shownRule(line: string): string {
  const [preference = '', words = ''] = line.split(/:\s+(?:from all )?/, 2);
  return comparable(preference, words.trim().split(/\s+/));
}

function comparable(preference: string, words: readonly string[]): string {
  const said = words
    .filter((word) => !/^\[\w+\]$/.test(word))
    .map((word) => word.replace(/^([\d.]+)\/32$|^([\da-f:]+)\/128$/, '$1$2'));
  return [preference, ...said.toSorted()].join(' ');
}

const ours = { [Labels.kind]: 'network' };
const bridgeName = 'com.docker.network.bridge.name';
const containersTalk = 'com.docker.network.bridge.enable_icc';

/** A bridge of a fixed name, by which the fence knows it, and on which containers do not see each other. */
const agentNetworkOptions: Docker.NetworkCreateOptions = {
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
function isOurs({ labels }: Pick<FoundNetwork, 'labels'>): boolean {
  return Object.entries(ours).every(([key, value]) => labels[key] === value);
}

/** Where a network of the agents' name is not the one that the fence stands around, as parts of a sentence. Pure. */
function networkFaults(found: FoundNetwork): readonly string[] {
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

interface Judged {
  readonly network: FoundNetwork;
  readonly faults: readonly string[];
}

/** Keeps the network of the agents' containers as it is to be. */
export class AgentNetwork {
  readonly #engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>;
  readonly #log: Logger;
  /** Made by this process: making it once more would change nothing. */
  readonly #made = new Set<string>();

  constructor(engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /**
   * Makes it when it is not there, and anew when it is ours, wrong, and no container is on it. What is still wrong then;
   * rejects when the engine does not answer or cannot make it.
   */
  async mend(): Promise<Cause | undefined> {
    const before = await this.#judged();
    const removable = before.filter(
      ({ network, faults }) => faults.length > 0 && isOurs(network) && !this.#made.has(network.id),
    );
    for (const { network } of removable) await this.#engine.removeNetwork(network.id);
    const left = removable.length === 0 ? before : await this.#judged();
    if (left.length < before.length)
      this.#log.log('info', 'the network of the agents was not as it must be, and is made anew', {
        faults: before.flatMap(({ faults }) => faults),
      });
    return this.#problemOf(left.length > 0 ? left : await this.#make());
  }

  async #make(): Promise<readonly Judged[]> {
    try {
      this.#made.add(await this.#engine.createNetwork(agentNetworkOptions));
    } catch (error) {
      // Somebody else was faster.
      const found = await this.#judged();
      if (found.length > 0) return found;
      throw error;
    }
    return this.#judged();
  }

  /** The best one first: containers cannot say which of several of one name they mean. */
  async #judged(): Promise<readonly Judged[]> {
    const found = await this.#engine.networksNamed(agentNetwork);
    return found
      .map((network) => ({ network, faults: networkFaults(network) }))
      .toSorted((a, b) => a.faults.length - b.faults.length)
      .map(({ network, faults }, at) => ({
        network,
        faults: at === 0 ? faults : [...faults, 'there is another one of this name'],
      }));
  }

  #problemOf(all: readonly Judged[]): Cause | undefined {
    const wrong = all.find(({ faults }) => faults.length > 0);
    if (wrong === undefined) return undefined;
    const { network, faults } = wrong;
    return {
      code: 'fence.network',
      what: `the network ${agentNetwork} of Docker does not keep jobs apart as it must: ${faults.slice(0, mostFaults).join(', ')}`,
      next: this.#made.has(network.id)
        ? 'look at default-network-opts in /etc/docker/daemon.json: Docker makes networks this way here'
        : isOurs(network)
          ? 'drain the host (azp-fleet drain): the network is made anew when no container is on it'
          : `remove it on the host (docker network rm ${network.id.slice(0, 12)}): it is made anew within a minute`,
    };
  }
}

const mostFaults = 4;

const commandMs = 10_000;

/** `unknown`: it has not been looked at since the start. */
type Standing = 'unknown' | 'up' | Cause;

interface FenceTools {
  readonly command: RunCommand;
  readonly engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>;
  readonly log: Logger;
}

/**
 * Keeps jobs from the cloud's metadata and from each other: routing rules for containers and for the users whose jobs run
 * straight on the host, and the network that the containers are on.
 */
export class Fence {
  readonly #command: RunCommand;
  readonly #log: Logger;
  readonly #hasIpv6: () => Promise<boolean>;
  readonly #agentNetwork: AgentNetwork;
  readonly #fenced: Fenced[] = ['containers'];
  #rules: Standing = 'unknown';
  #network: Standing = 'unknown';
  /** One after the other, or a rule that two find missing is there twice. */
  #last: Promise<void> = Promise.resolve();

  constructor({ command, engine, log }: FenceTools, hasIpv6 = ipv6OnThisHost) {
    this.#command = command;
    this.#log = log;
    this.#hasIpv6 = hasIpv6;
    this.#agentNetwork = new AgentNetwork(engine, log);
  }

  /** Where it does not stand. */
  get problems(): readonly Cause[] {
    return [this.#rules, this.#network].filter((standing) => typeof standing === 'object');
  }

  /** Why it cannot be said to stand around such a slot; undefined: it does. */
  gap(mode: Slot['mode']): Cause | undefined {
    const standings = mode === 'container' ? [this.#rules, this.#network] : [this.#rules];
    const gap = standings.find((standing) => standing !== 'up');
    return gap === 'unknown' ? notYet : gap;
  }

  /** Also around these users, from now on. */
  async around(uids: readonly number[]): Promise<void> {
    for (const uid of uids) {
      if (!this.#fenced.some((known) => known !== 'containers' && known.uid === uid))
        this.#fenced.push({ uid });
    }
    await this.raise();
  }

  /** Puts up what is missing: others flush the rules, systemd-networkd at each of its starts. Never throws. */
  raise(): Promise<void> {
    return this.#inTurn(async () => {
      const seen = await this.#mend();
      this.#rules = this.#noted(this.#rules, seen === undefined ? undefined : open(seen));
    });
  }

  /** The network of the containers, made where it is missing. Rejects when Docker does not answer or cannot make it. */
  enclose(): Promise<void> {
    return this.#inTurn(async () => {
      this.#network = this.#noted(this.#network, await this.#agentNetwork.mend());
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #noted(before: Standing, now: Cause | undefined): Standing {
    if (now !== undefined && (typeof before !== 'object' || before.what !== now.what))
      this.#log.log('warn', 'the fence around jobs does not stand', { ...now });
    return now ?? 'up';
  }

  /** What `ip` complained about, if so. */
  async #mend(): Promise<string | undefined> {
    const hasIpv6 = await this.#hasIpv6();
    const v4 = await this.#ip('-4', ['show']);
    const v6 = hasIpv6 ? await this.#ip('-6', ['show']) : undefined;
    const failed = [v4, v6].find((shown) => shown !== undefined && shown.code !== 0);
    if (failed !== undefined) return failed.output.trim();
    const shown = { '-4': v4.output, '-6': v6?.output ?? '' };
    const rules = fenceRules(this.#fenced).filter(({ family }) => hasIpv6 || family === '-4');
    for (const { family, args } of missingRules(rules, shown)) {
      const { code, output } = await this.#ip(family, ['add', ...args]);
      if (code !== 0) return `ip ${family} rule add ${args.join(' ')}: ${output.trim()}`;
    }
    return undefined;
  }

  #ip(family: FenceRule['family'], args: readonly string[]): Promise<CommandResult> {
    return this.#command('ip', [family, 'rule', ...args], commandMs);
  }
}

function open(seen: string): Cause {
  return {
    code: 'fence.open',
    what: `jobs may reach the cloud's metadata, and with it the identity of this machine: ${seen}`,
    next: 'make `ip rule` work on the host (package iproute2); it is tried again every minute',
  };
}

const notYet: Cause = {
  code: 'fence.unknown',
  what: 'whether jobs are kept from the metadata of the cloud is being looked at',
  next: 'wait a moment',
};

function ipv6OnThisHost(): Promise<boolean> {
  return access('/proc/net/if_inet6').then(
    () => true,
    () => false,
  );
}
