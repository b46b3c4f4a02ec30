import { access } from 'node:fs/promises';
import type { Logger } from '../../base/log.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';
import { fenceRules, missingRules, type Fenced, type FenceRule } from './fence-rules.ts';
import type { Cause } from '../model.ts';

const commandMs = 10_000;

/** Keeps jobs from the cloud's metadata: from containers, and from the users whose jobs run straight on the host. */
export class Fence {
  readonly #command: RunCommand;
  readonly #log: Logger;
  readonly #hasIpv6: () => Promise<boolean>;
  readonly #fenced: Fenced[] = ['containers'];
  #problem: Cause | undefined;
  /** One after the other, or a rule that two find missing is there twice. */
  #last: Promise<void> = Promise.resolve();

  constructor(command: RunCommand, log: Logger, hasIpv6 = ipv6OnThisHost) {
    this.#command = command;
    this.#log = log;
    this.#hasIpv6 = hasIpv6;
  }

  /** Why jobs may reach the metadata; undefined: they do not. */
  get problem(): Cause | undefined {
    return this.#problem;
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
    this.#last = this.#last.then(async () => {
      const seen = await this.#mend();
      if (seen !== undefined && this.#problem === undefined)
        this.#log.log('warn', 'cannot close the metadata addresses', { seen });
      this.#problem = seen === undefined ? undefined : open(seen);
    });
    return this.#last;
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

function ipv6OnThisHost(): Promise<boolean> {
  return access('/proc/net/if_inet6').then(
    () => true,
    () => false,
  );
}
