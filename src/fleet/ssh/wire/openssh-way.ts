import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { FleetError } from '../../../shared/base/errors.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import type { JumpHost } from '../config/way.ts';
import { throughHop } from '../failures.ts';
import { hostArguments, nothingElse, option } from './openssh-arguments.ts';
import { opensshFailure } from './openssh-failure.ts';

interface Manner {
  /** Somebody may be asked, at the terminal. */
  readonly asks: boolean;
  /** What the ssh of a jump host says is kept for `wayFailure`; else it goes to the terminal. */
  readonly heard: boolean;
}

/**
 * The system ssh's arguments for a login through jump hosts. Each of them has an ssh of its own with its own arguments:
 * with ProxyJump it would have what its own configuration says, and neither pins nor a policy of the inventory. `folder`,
 * which outlives the login, takes the pinned keys and a script for each jump host.
 */
export function loginArguments(
  options: ConnectionOptions,
  way: readonly JumpHost[],
  folder: string,
  { asks, heard }: Manner,
): string[] {
  const batch = asks ? [] : option('BatchMode', 'yes');
  const patience = [...way.map((hop) => hop.options), options].map(
    ({ connectTimeoutMs }) => connectTimeoutMs,
  );
  for (const [index, { options: hop }] of way.entries()) {
    const flags = [
      ...through(folder, index - 1),
      ...hostArguments(hop, join(folder, `pins-${index}`), inAll(patience.slice(0, index + 1), asks)),
      ...nothingElse,
      ...(heard ? option('LogLevel', 'ERROR') : []),
      ...batch,
    ];
    const program = ['ssh', ...flags].map(quote).join(' ');
    const said = heard ? ` 2>${quote(saidBy(folder, index))}` : '';
    const script = `exec ${program} -W "[$1]:$2" -- ${quote(hop.typed)}${said}\n`;
    writeFileSync(scriptOf(folder, index), script, { mode: 0o600 });
  }
  return [
    ...through(folder, way.length - 1),
    ...hostArguments(options, join(folder, 'pins'), inAll(patience, asks)),
    ...batch,
  ];
}

/** Why the way was not passed, of the first jump host that says so; undefined: none does. */
export function wayFailure(
  options: ConnectionOptions,
  way: readonly JumpHost[],
  folder: string,
): FleetError | undefined {
  for (const [index, { options: hop }] of way.entries()) {
    const said = heardFrom(saidBy(folder, index));
    if (said === '') continue;
    const behind = way[index + 1]?.options ?? options;
    if (/stdio forwarding failed/.test(said)) return throughHop(behind, hop, said);
    return opensshFailure(hop, said);
  }
  return undefined;
}

/** What is behind a jump host waits for its login as well, for ever where a person is asked. 0: for ever. */
function inAll(timesMs: readonly number[], asks: boolean): number {
  const waits = timesMs.includes(0) || (asks && timesMs.length > 1);
  return waits ? 0 : timesMs.reduce((sum, ms) => sum + ms, 0);
}

/** Empty where it was not even started. */
function heardFrom(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** Before ProxyJump, or that would count. */
function through(folder: string, index: number): string[] {
  if (index < 0) return [];
  const script = quote(scriptOf(folder, index)).replaceAll('%', '%%');
  return [...option('ProxyCommand', `sh ${script} %h %p`), ...option('ProxyUseFdpass', 'no')];
}

const scriptOf = (folder: string, index: number): string => join(folder, `hop-${index}`);
const saidBy = (folder: string, index: number): string => join(folder, `said-${index}`);
