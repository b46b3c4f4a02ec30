import { access } from 'node:fs/promises';
import type { Logger } from '../../shared/base/log.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';
import { AgentNetwork } from './agent-network.ts';
import { fenceRules, missingRules, type Fenced, type FenceRule } from './fence-rules.ts';
import type { Cause, Slot } from '../model.ts';

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
