import type { Context } from '../base/context.ts';
import { defined } from '../base/defined.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { Progress } from '../render/progress.ts';
import type { TransportParts } from '../ssh/connection-tools.ts';
import { createTransport } from '../ssh/create-transport.ts';
import type { Transport } from '../ssh/transport.ts';
import { askSecret, canAsk } from './ask.ts';
import { resolve, type OpenFleet } from './fleet.ts';

export interface TransportOptions {
  readonly json: boolean;
  /** Bytes per second for all uploads together, over what the inventory says. */
  readonly bandwidth?: number;
}

/** The way to the hosts. Questions are put only where somebody can answer; with --json nobody is asked. */
export function openTransport(
  context: Context,
  { fleet }: Pick<OpenFleet, 'fleet'>,
  progress: Pick<Progress, 'sink' | 'aside'>,
  options: TransportOptions,
): Transport {
  const notice = (text: string) => progress.sink({ kind: 'note', text });
  const parts = transportParts(context, fleet, notice, options);
  const { ask } = parts;
  return createTransport({
    ...parts,
    ask: ask === undefined ? undefined : (question) => progress.aside(() => ask(question)),
    resolveSecret: (source) =>
      'prompt' in source ? progress.aside(() => parts.resolveSecret(source)) : parts.resolveSecret(source),
  });
}

export function transportParts(
  context: Context,
  fleet: Fleet,
  notice: (line: string) => void,
  options: TransportOptions,
): TransportParts {
  const { home, user, log } = context;
  return {
    home,
    user,
    env: withoutSecrets(context.env, fleet),
    log,
    now: () => context.now(),
    ask: canAsk(context) && !options.json ? ({ text }) => askSecret(context, text) : undefined,
    resolveSecret: (source) => resolve(context, fleet, source, 'the password'),
    notice,
    uploads: { ...fleet.uploads, ...defined({ bandwidth: options.bandwidth }) },
  };
}

/** The environment for programs that we start: without the variables that hold the fleet's secrets. */
export function withoutSecrets(env: Context['env'], { credential, hosts }: Fleet): Context['env'] {
  const own = credential.kind === 'pat' ? credential.token : credential.secret;
  const sources = [own, ...hosts.flatMap(({ ssh }) => [ssh.sudoPassword, ssh.loginPassword])];
  const secret = new Set(
    sources.flatMap((source) => (source !== undefined && 'env' in source ? [source.env] : [])),
  );
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}
