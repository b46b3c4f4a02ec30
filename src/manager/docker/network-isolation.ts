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
import { unscaled } from '../../shared/base/clock.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { Cause, Slot } from '../model.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';

/** The source of connections: the agents' containers, or a user of the host. */
type Isolated = 'containers' | { readonly uid: number };

type Family = '-4' | '-6';

interface RoutingRule {
  readonly family: Family;
  /** Arguments for `ip rule add`. */
  readonly args: readonly string[];
}

/**
 * Addresses at which clouds serve the identity of a machine: all link-local ones (169.254.169.254 nearly everywhere, 169.254.170.2
 * and .23 for containers on AWS, 169.254.42.42 at Scaleway, 169.254.0.23 at Tencent), 168.63.129.16 (Azure's agent),
 * 100.100.100.200 (Alibaba), 192.0.0.192 (Oracle's older cloud); by IPv6 the block of AWS (fd00:ec2::254, ::23), Google,
 * Oracle, Scaleway, Akamai, Alibaba, and link-local OpenStack. From their documentation and cloud-init.
 */
export const metadataAddresses: Readonly<Record<Family, readonly string[]>> = {
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
 * Returns the routing rules. DNS to the metadata addresses stays allowed: Azure (168.63.129.16), AWS (169.254.169.253,
 * fd00:ec2::253), Google and Oracle (169.254.169.254) serve names on them.
 *
 * Routing rules survive a reload of any firewall of the host. Add them in this order: a jump without its target has no
 * effect, and DNS would be blocked, too. Pure.
 */
export function routingRules(isolated: readonly Isolated[]): readonly RoutingRule[] {
  return (['-4', '-6'] as const).flatMap((family) => [
    { family, args: ['pref', preferences.past, 'nop'] },
    ...isolated.flatMap((who) => [
      ...['udp', 'tcp'].map((protocol) =>
        rule(family, preferences.names, who, `ipproto ${protocol} dport 53 goto ${preferences.past}`),
      ),
      ...metadataAddresses[family].map((address) =>
        rule(family, preferences.closed, who, `to ${address} prohibit`),
      ),
    ]),
  ]);
}

/** Returns the rules that `ip rule show` does not list. Pure. */
export function missingRules(
  rules: readonly RoutingRule[],
  shown: Readonly<Record<Family, string>>,
): readonly RoutingRule[] {
  const there = {
    '-4': new Set(shown['-4'].split('\n').map(parsedRule)),
    '-6': new Set(shown['-6'].split('\n').map(parsedRule)),
  };
  return rules.filter(({ family, args }) => !there[family].has(desiredRule(args)));
}

function rule(family: Family, preference: string, who: Isolated, what: string): RoutingRule {
  const selector = who === 'containers' ? `iif ${agentBridge}` : `uidrange ${who.uid}-${who.uid}`;
  return { family, args: `pref ${preference} ${selector} ${what}`.split(' ') };
}

function desiredRule([, preference = '', ...words]: readonly string[]): string {
  return comparable(preference, words);
}

/**
 * `50:	from all to 169.254.169.254 iif azp-fleet0 [detached] ipproto tcp dport 80 prohibit`: a rule's parts in any
 * order. The flags in brackets say that the bridge, or the target of a jump, is missing. All other words must match.
 */
function parsedRule(line: string): string {
  const [preference = '', words = ''] = line.split(/:\s+(?:from all )?/, 2);
  return comparable(preference, words.trim().split(/\s+/));
}

function comparable(preference: string, words: readonly string[]): string {
  const parts = words
    .filter((word) => !/^\[\w+\]$/.test(word))
    .map((word) => word.replace(/^([\d.]+)\/32$|^([\da-f:]+)\/128$/, '$1$2'));
  return [preference, ...parts.toSorted()].join(' ');
}

const networkLabels = { [Labels.kind]: 'network' };
const bridgeName = 'com.docker.network.bridge.name';
const containersTalk = 'com.docker.network.bridge.enable_icc';

/** A bridge with a fixed name, which the routing rules match. Its containers cannot reach each other. */
const agentNetworkOptions: Docker.NetworkCreateOptions = {
  Name: agentNetwork,
  Driver: 'bridge',
  // Explicit, because `default-network-opts` in daemon.json may set it.
  EnableIPv6: false,
  Labels: networkLabels,
  Options: { [bridgeName]: agentBridge, [containersTalk]: 'false' },
};

/** Options that do not weaken the isolation, with the allowed value; undefined: any value. */
const allowedOptions: ReadonlyMap<string, string | undefined> = new Map([
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

/** Returns whether a manager created the network and may create it again. */
function isOurs({ labels }: Pick<FoundNetwork, 'labels'>): boolean {
  return Object.entries(networkLabels).every(([key, value]) => labels[key] === value);
}

/** Returns how a network with the agents' name differs from the isolated one, as parts of a sentence. Pure. */
function networkFaults(found: FoundNetwork): readonly string[] {
  return [
    isOurs(found) ? '' : 'another program created it',
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
      (!allowedOptions.has(key) || (allowedOptions.get(key) ?? value) !== value),
  );
  return [
    bridge === agentBridge ? '' : `its bridge is not ${agentBridge}`,
    options[containersTalk] === 'false' ? '' : 'its containers reach each other',
    ...others.map(([key, value]) => `its option ${key} is ${value}`),
  ];
}

/** Returns the overlap with the metadata addresses, if any: traffic within the subnet is not routed, so no rule blocks it. */
function subnetFault(subnet: string): string {
  const metadata = metadataAddresses['-4'].find((address) => overlap(address, subnet));
  return metadata === undefined ? '' : `its addresses ${subnet} overlap metadata addresses`;
}

function overlap(one: string, other: string): boolean {
  return contains(one, other) || contains(other, one);
}

function contains(network: string, other: string): boolean {
  const [[address = '', length], [inside = '']] = [network.split('/'), other.split('/')];
  if (!isIPv4(address) || !isIPv4(inside)) return false;
  const list = new BlockList();
  list.addSubnet(address, Math.min(Number(length) || 32, 32), 'ipv4');
  return list.check(inside, 'ipv4');
}

interface CheckedNetwork {
  readonly network: FoundNetwork;
  readonly faults: readonly string[];
}

/** Creates the network of the agents' containers, and checks its options. */
export class AgentNetwork {
  readonly #engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>;
  readonly #log: Logger;
  /** Networks that this process created: creating one again would not help. */
  readonly #created = new Set<string>();

  constructor(engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /**
   * Creates the network when it is missing, and again when a manager created it, its options differ, and no container uses
   * it. Returns the remaining problem; rejects when the engine does not answer or cannot create it.
   */
  async ensure(): Promise<Cause | undefined> {
    const before = await this.#checked();
    const removable = before.filter(
      ({ network, faults }) => faults.length > 0 && isOurs(network) && !this.#created.has(network.id),
    );
    for (const { network } of removable) await this.#engine.removeNetwork(network.id);
    const left = removable.length === 0 ? before : await this.#checked();
    if (left.length < before.length)
      this.#log.log('info', 'recreated the network of the agents: its options differed', {
        faults: before.flatMap(({ faults }) => faults),
      });
    return this.#problemOf(left.length > 0 ? left : await this.#create());
  }

  async #create(): Promise<readonly CheckedNetwork[]> {
    try {
      this.#created.add(await this.#engine.createNetwork(agentNetworkOptions));
    } catch (error) {
      // Another program was faster.
      const found = await this.#checked();
      if (found.length > 0) return found;
      throw error;
    }
    return this.#checked();
  }

  /** Returns the networks of this name, the best first: a container cannot choose among several. */
  async #checked(): Promise<readonly CheckedNetwork[]> {
    const found = await this.#engine.networksNamed(agentNetwork);
    return found
      .map((network) => ({ network, faults: networkFaults(network) }))
      .toSorted((a, b) => a.faults.length - b.faults.length)
      .map(({ network, faults }, at) => ({
        network,
        faults: at === 0 ? faults : [...faults, 'another network has this name'],
      }));
  }

  #problemOf(all: readonly CheckedNetwork[]): Cause | undefined {
    const wrong = all.find(({ faults }) => faults.length > 0);
    if (wrong === undefined) return undefined;
    const { network, faults } = wrong;
    return {
      code: 'fence.network',
      what: `the Docker network ${agentNetwork} does not isolate jobs: ${faults.slice(0, mostShownFaults).join(', ')}`,
      next: this.#created.has(network.id)
        ? 'check default-network-opts in /etc/docker/daemon.json: Docker creates networks with these options'
        : isOurs(network)
          ? 'drain the host (azp-fleet drain): the network is created again when no container uses it'
          : `remove it on the host (docker network rm ${network.id.slice(0, 12)}): it is created again within a minute`,
    };
  }
}

const mostShownFaults = 4;

const commandMs = 10_000;

/** `unknown`: not checked since the start. */
type State = 'unknown' | 'up' | Cause;

interface IsolationTools {
  readonly command: RunCommand;
  readonly engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>;
  readonly log: Logger;
}

/**
 * Isolates jobs from the cloud's metadata service and from each other: routing rules for containers and for the users of
 * agents with `mode: host`, and the network of the containers.
 */
export class NetworkIsolation {
  readonly #command: RunCommand;
  readonly #log: Logger;
  readonly #hasIpv6: () => Promise<boolean>;
  readonly #agentNetwork: AgentNetwork;
  readonly #isolated: Isolated[] = ['containers'];
  #rules: State = 'unknown';
  #network: State = 'unknown';
  /** Runs one change at a time: two at once would add a missing rule twice. */
  #queue: Promise<void> = Promise.resolve();

  constructor({ command, engine, log }: IsolationTools, hasIpv6 = ipv6OnThisHost) {
    this.#command = command;
    this.#log = log;
    this.#hasIpv6 = hasIpv6;
    this.#agentNetwork = new AgentNetwork(engine, log);
  }

  /** Problems of the isolation. */
  get problems(): readonly Cause[] {
    return [this.#rules, this.#network].filter((state) => typeof state === 'object');
  }

  /** Returns why a slot of this mode is not known to be isolated; undefined: it is. */
  problemFor(mode: Slot['mode']): Cause | undefined {
    const states = mode === 'container' ? [this.#rules, this.#network] : [this.#rules];
    const problem = states.find((state) => state !== 'up');
    return problem === 'unknown' ? notYet : problem;
  }

  /** Adds rules for these users. */
  async isolateUsers(uids: readonly number[]): Promise<void> {
    for (const uid of uids) {
      if (!this.#isolated.some((known) => known !== 'containers' && known.uid === uid))
        this.#isolated.push({ uid });
    }
    await this.ensureRules();
  }

  /** Adds missing rules: other programs flush them, systemd-networkd at each start. Never throws. */
  ensureRules(): Promise<void> {
    return this.#enqueue(async () => {
      const seen = await this.#addMissing();
      this.#rules = this.#logChange(this.#rules, seen === undefined ? undefined : rulesMissing(seen));
    });
  }

  /** Creates the network of the containers if it is missing. Rejects when Docker does not answer or cannot create it. */
  ensureNetwork(): Promise<void> {
    return this.#enqueue(async () => {
      this.#network = this.#logChange(this.#network, await this.#agentNetwork.ensure());
    });
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  #logChange(before: State, now: Cause | undefined): State {
    if (now !== undefined && (typeof before !== 'object' || before.what !== now.what))
      this.#log.log('warn', 'the network isolation of jobs is incomplete', { ...now });
    return now ?? 'up';
  }

  /** Adds the missing rules; returns the error of `ip`. */
  async #addMissing(): Promise<string | undefined> {
    const hasIpv6 = await this.#hasIpv6();
    const v4 = await this.#ip('-4', ['show']);
    const v6 = hasIpv6 ? await this.#ip('-6', ['show']) : undefined;
    const failed = [v4, v6].find((shown) => shown !== undefined && shown.code !== 0);
    if (failed !== undefined) return failed.output.trim();
    const shown = { '-4': v4.output, '-6': v6?.output ?? '' };
    const rules = routingRules(this.#isolated).filter(({ family }) => hasIpv6 || family === '-4');
    for (const { family, args } of missingRules(rules, shown)) {
      const { code, output } = await this.#ip(family, ['add', ...args]);
      if (code !== 0) return `ip ${family} rule add ${args.join(' ')}: ${output.trim()}`;
    }
    return undefined;
  }

  #ip(family: RoutingRule['family'], args: readonly string[]): Promise<CommandResult> {
    return this.#command('ip', [family, 'rule', ...args], commandMs);
  }
}

function rulesMissing(seen: string): Cause {
  return {
    code: 'fence.open',
    what: `jobs may reach the cloud metadata service and the identity of this machine: ${seen}`,
    next: 'check `ip rule` on the host (package iproute2); retried every minute',
  };
}

const notYet: Cause = {
  code: 'fence.unknown',
  what: 'network isolation of jobs has not been checked yet',
  next: 'wait a moment',
};

const deletedRule = new RegExp(`^Deleted (?:${Object.values(preferences).join('|')}):`);

/** Pause before the rules are followed again, real milliseconds. */
const followAgainMs = 60_000;

/**
 * Calls `onDeleted` as soon as another program deletes one of the rules, as systemd-networkd does at each start. The check of each
 * minute finds what this misses.
 */
export async function followRules(
  { follow, clock, log, signal }: Pick<ManagerDeps, 'follow' | 'clock' | 'log' | 'signal'>,
  onDeleted: () => void,
): Promise<void> {
  let isLogged = false;
  const read = (line: string): void => {
    if (deletedRule.test(line)) onDeleted();
  };
  while (!signal.aborted) {
    const { complaint } = await follow('ip', ['monitor', 'rule'], read, signal);
    if (!signal.aborted && !isLogged) {
      isLogged = true;
      log.log('info', 'the routing rules cannot be followed; they are checked every minute', {
        seen: complaint,
      });
    }
    await clock.wait(unscaled(clock, followAgainMs), signal);
  }
}

function ipv6OnThisHost(): Promise<boolean> {
  return access('/proc/net/if_inet6').then(
    () => true,
    () => false,
  );
}
