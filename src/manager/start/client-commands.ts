import { hostname } from 'node:os';
import { env } from 'node:process';
import { defined } from '../../shared/base/objects.ts';
import { usageError } from '../../shared/base/errors.ts';
import { foreignLines, escapeHidden } from '../../shared/base/foreign-text.ts';
import { currentUser } from '../../shared/base/user.ts';
import { ask } from '../serve/control.ts';
import type { Invocation } from './arguments.ts';

/**
 * Runs a command that calls the running manager of this host; returns the text to print. The output of jobs is cleaned for a
 * `terminal`.
 */
export async function runClient(
  { command, positionals, values }: Invocation,
  socket: string,
  terminal: boolean,
): Promise<string> {
  const slots = positionals;
  const [slot] = positionals;
  switch (command) {
    case 'status':
      return pretty(await ask(socket, { method: 'GET', path: '/v1/status' }));
    case 'runs':
      return pretty(await ask(socket, { method: 'GET', path: `/v1/runs${query({ slot })}` }));
    case 'logs': {
      if (slot === undefined) throw usage('logs needs the name of a slot');
      const path =
        values.diag === true
          ? `/v1/diagnostics${query({ slot, run: values.run })}`
          : `/v1/logs${query({ slot, tail: values.tail })}`;
      const output = await ask(socket, { method: 'GET', path });
      return terminal ? foreignLines(output, Number.POSITIVE_INFINITY) : output;
    }
    case 'drain':
      return pretty(
        await ask(socket, {
          method: 'POST',
          path: '/v1/drain',
          body: { slots, reason: values.reason ?? '', owner: caller() },
        }),
      );
    case 'repaired':
      return pretty(
        await ask(socket, { method: 'POST', path: '/v1/repaired', body: { gpu: values.gpu ?? 'all' } }),
      );
    case 'webhook':
      await ask(socket, { method: 'POST', path: '/v1/webhook' });
      return 'the webhook accepted a test message\n';
    case 'undrain':
    case 'adopt': {
      const body = defined({ slots, run: values.run });
      return pretty(await ask(socket, { method: 'POST', path: `/v1/${command}`, body }));
    }
    default:
      throw usage(command === '' ? 'a command is missing' : `there is no command ${command}`);
  }
}

/** Returns the caller, `ann@h200-1`; with sudo, the user who ran it. */
function caller(): string {
  return `${env['SUDO_USER'] ?? currentUser(env).username}@${hostname()}`;
}

function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) given.set(name, value);
  return given.size === 0 ? '' : `?${given.toString()}`;
}

function pretty(json: string): string {
  return escapeHidden(`${JSON.stringify(JSON.parse(json), undefined, 2)}\n`);
}

function usage(what: string): Error {
  return usageError({ code: 'manager.usage', what, next: 'azp-fleet-manager --help' });
}
