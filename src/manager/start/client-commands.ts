import { hostname } from 'node:os';
import { env } from 'node:process';
import { defined } from '../../shared/base/objects.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { foreignLines, escapeHidden } from '../../shared/base/foreign-text.ts';
import { currentUser } from '../../shared/base/user.ts';
import { stillDrained, type UndrainOwnOrder } from '../../shared/contract/drain.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
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
      if (values.run === undefined)
        return undrained(socket, { slots, owner: caller(), ...defined({ of: values.of }) });
      return pretty(await ask(socket, { method: 'POST', path: '/v1/undrain', body: { run: values.run } }));
    case 'adopt':
      return pretty(await ask(socket, { method: 'POST', path: '/v1/adopt', body: { slots } }));
    default:
      throw usage(command === '' ? 'a command is missing' : `there is no command ${command}`);
  }
}

/** Ends the caller's drains; rejects if the host or slots stay drained. */
async function undrained(socket: string, order: UndrainOwnOrder): Promise<string> {
  const before = JSON.parse(await ask(socket, { method: 'GET', path: '/v1/status' })) as ManagerStatus;
  const answer = await ask(socket, { method: 'POST', path: '/v1/undrain-own', body: order });
  const { host, drains } = JSON.parse(answer) as ManagerStatus;
  const ended = Math.max(0, before.drains.length - drains.length);
  const problem = stillDrained(host, order, { drains, ended });
  if (problem !== undefined) throw new FleetError(problem);
  return pretty(answer);
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
