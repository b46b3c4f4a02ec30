import { hostname } from 'node:os';

import type { EventSink } from '../../fleet/apply/events.ts';
import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { loadFleet } from '../../fleet/inventory/load.ts';
import { selectHosts } from '../../fleet/inventory/select.ts';
import { createTransport, type TransportParts } from '../../fleet/ssh/create-transport.ts';
import { questionText } from '../../fleet/ssh/questions.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { Context } from '../../shared/base/context.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';
import { askSecret, canAsk } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { say } from '../render/lines.ts';
import { createProgress, type Progress } from '../render/progress.ts';
import { hideSecrets, resolve, withoutSecrets } from './secrets.ts';

/** The inventory and the hosts that the command is about. */
export interface OpenHosts {
  readonly fleet: Fleet;
  readonly hosts: readonly HostSpec[];
  /** Told once progress is drawn: from then on waits are told there. */
  readonly tellBy?: (say: (text: string) => void) => void;
}

/** Every host is reached by this configuration of ssh, whatever the inventory says. */
function bySshConfig(fleet: Fleet, sshConfig: string | undefined): Fleet {
  if (sshConfig === undefined) return fleet;
  return { ...fleet, hosts: fleet.hosts.map((host) => ({ ...host, ssh: { ...host.ssh, sshConfig } })) };
}

/** The inventory, its secrets hidden from now on. */
export function openInventory(context: Context, file: string): Fleet {
  const fleet = loadFleet(file, context);
  hideSecrets(context, fleet);
  return fleet;
}

/** Loads the inventory; its secrets only to hide them, as far as they are known without asking. `patterns`: which of its hosts, within --limit. */
export function openHosts(
  context: Context,
  { inventory, options, positionals }: CommandInput,
  patterns: readonly string[] = positionals,
): OpenHosts {
  const loaded = openInventory(context, inventory);
  const fleet = bySshConfig(loaded, options.sshConfig(context.cwd));
  return { fleet, hosts: selectHosts(fleet, patterns, options.list('limit')) };
}

/** What a command has while it is connected, beside what it has opened. */
export interface Connected<Way = Transport> {
  readonly transport: Way;
  /** Into the progress that is drawn at the moment. */
  readonly emit: EventSink;
  /** Ends the drawing, to show or ask something; `redraw` begins a new one. */
  readonly quiet: () => Promise<void>;
  readonly redraw: () => void;
}

export interface Wiring<Way> {
  /** Opens the way to the hosts. */
  readonly connect: (parts: TransportParts) => Way;
  /** How progress is shown. */
  readonly draw: typeof createProgress;
}

/** Sessions on the hosts, and every host drawn. */
export const overSsh: Wiring<Transport> = { connect: createTransport, draw: createProgress };

/** For commands that need nothing but SSH: no token is read, and Azure DevOps is not asked. */
export async function withHosts<T>(
  context: Context,
  input: CommandInput,
  body: (at: OpenHosts & Connected) => Promise<T>,
): Promise<T> {
  return connected(context, input, openHosts(context, input), overSsh, body);
}

/** Draws progress, opens the way to the hosts, runs the body, and puts both away again however it ended. */
export async function connected<T, Open extends OpenHosts, Way extends { close(): void | Promise<void> }>(
  context: Context,
  { options }: CommandInput,
  open: Open,
  { connect, draw }: Wiring<Way>,
  body: (at: Open & Connected<Way>) => Promise<T>,
): Promise<T> {
  const { fleet, hosts } = open;
  const json = options.flag('json');
  const start = (): Progress => draw(context, { hosts: hosts.map(({ name }) => name), json });
  let progress = start();
  let transport: Way | undefined;
  open.tellBy?.((text) => progress.sink({ kind: 'note', text }));
  try {
    transport = connect(
      transportParts(
        context,
        fleet,
        { sink: (event) => progress.sink(event), aside: (question) => progress.aside(question) },
        { json, bandwidth: options.rate('uploadLimit') },
      ),
    );
    return await body({
      ...open,
      transport,
      emit: (event) => progress.sink(event),
      quiet: () => progress.finish(),
      redraw: () => {
        progress = start();
      },
    });
  } finally {
    try {
      await progress.finish();
    } finally {
      await transport?.close();
    }
  }
}

/** For what is short: what the connections have to say, and nothing else. */
export function notesOnly(context: Context, { json }: { readonly json: boolean }): Progress {
  return {
    sink: (event) =>
      void (event.kind === 'note' && !json && say(context.stderr, `${foreignLine(event.text)}\n`)),
    aside: (question) => question(),
    finish: () => Promise.resolve(),
  };
}

/** What a way to the hosts is made of. Questions are put only where somebody can answer; with --json nobody is asked. */
function transportParts(
  context: Context,
  fleet: Fleet,
  progress: Pick<Progress, 'sink' | 'aside'>,
  options: { readonly json: boolean; readonly bandwidth: number | undefined },
): TransportParts {
  const { home, user, log, clock } = context;
  const { bandwidth } = options;
  const read: TransportParts['resolveSecret'] = (source) => resolve(context, fleet, source, 'the password');
  return {
    home,
    user,
    env: withoutSecrets(context.env, fleet),
    log,
    clock,
    ask:
      canAsk(context) && !options.json
        ? (question) =>
            progress.aside(() =>
              askSecret(
                context,
                questionText(question, context.stderr.columns ?? 80),
                question.hidden ? undefined : 'shown',
              ),
            )
        : undefined,
    resolveSecret: (source) => ('prompt' in source ? progress.aside(() => read(source)) : read(source)),
    notice: (text) => progress.sink({ kind: 'note', text }),
    hosts: fleet.hosts,
    uploads: { ...fleet.uploads, ...defined({ bandwidth }) },
  };
}

/** `user@laptop`, as locks and durable changes name us. */
export function ownerName(context: Context): string {
  return `${context.user}@${hostname()}`;
}
