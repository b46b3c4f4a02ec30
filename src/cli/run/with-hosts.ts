import type { EventSink } from '../../fleet/apply/events.ts';
import type { Context } from '../../shared/base/context.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { say } from '../render/lines/say.ts';
import { createProgress, type Progress } from '../render/progress.ts';
import { createTransport, type TransportParts } from '../../fleet/ssh/create-transport.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { CommandInput } from '../command.ts';
import { openHosts, type OpenHosts } from './hosts.ts';
import { transportParts } from './transport.ts';

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
