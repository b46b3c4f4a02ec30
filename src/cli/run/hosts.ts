import { hostname } from 'node:os';

import type { EventSink } from '../../fleet/apply/events.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
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
import { openHosts, type OpenHosts } from './inventory.ts';
import { resolve, withoutSecrets } from './secrets.ts';

/** What a command has while it is connected. */
export interface Connected<Link = Transport> {
  readonly transport: Link;
  /** Sends events to the present progress display. */
  readonly emit: EventSink;
  /** Stops the progress display, for output or questions; `redraw` starts a new one. */
  readonly quiet: () => Promise<void>;
  readonly redraw: () => void;
}

export interface Wiring<Link> {
  /** Connects to the hosts. */
  readonly connect: (parts: TransportParts) => Link;
  /** How progress is shown. */
  readonly draw: typeof createProgress;
}

/** SSH sessions, with the progress of every host. */
export const overSsh: Wiring<Transport> = { connect: createTransport, draw: createProgress };

/** Runs a command that needs only SSH: reads no token and does not contact Azure DevOps. */
export async function withHosts<T>(
  context: Context,
  input: CommandInput,
  body: (at: OpenHosts & Connected) => Promise<T>,
): Promise<T> {
  return connected(context, input, openHosts(context, input), overSsh, body);
}

/** Draws progress, connects to the hosts, runs the body, and closes both in any case. */
export async function connected<T, Open extends OpenHosts, Link extends { close(): void | Promise<void> }>(
  context: Context,
  { options }: CommandInput,
  open: Open,
  { connect, draw }: Wiring<Link>,
  body: (at: Open & Connected<Link>) => Promise<T>,
): Promise<T> {
  const { fleet, hosts } = open;
  const json = options.flag('json');
  const start = (): Progress => draw(context, { hosts: hosts.map(({ name }) => name), json });
  let progress = start();
  let transport: Link | undefined;
  open.noteBy?.((text) => progress.sink({ kind: 'note', text }));
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

/** Returns a progress that prints only notes, for short commands. */
export function notesOnly(context: Context, { json }: { readonly json: boolean }): Progress {
  return {
    sink: (event) =>
      void (event.kind === 'note' && !json && say(context.stderr, `${foreignLine(event.text)}\n`)),
    aside: (question) => question(),
    finish: () => Promise.resolve(),
  };
}

/** Returns the parts of a transport. Questions are asked only on a terminal and without --json. */
function transportParts(
  context: Context,
  fleet: Fleet,
  progress: Pick<Progress, 'sink' | 'aside'>,
  options: { readonly json: boolean; readonly bandwidth: number | undefined },
): TransportParts {
  const { home, user, log, clock } = context;
  const { bandwidth } = options;
  const note = (text: string): void => progress.sink({ kind: 'note', text });
  const read: TransportParts['resolveSecret'] = (source) =>
    resolve(context, fleet, source, 'the password', note);
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
    notice: note,
    hosts: fleet.hosts,
    uploads: { ...fleet.uploads, ...defined({ bandwidth }) },
  };
}

/** Returns `user@laptop`, the owner name in locks and durable changes. */
export function ownerName(context: Context): string {
  return `${context.user}@${hostname()}`;
}
