import { readFileSync } from 'node:fs';
import pLimit from 'p-limit';

import { pinHostKeys } from '../../fleet/inventory/document/edit.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import type { HostKey } from '../../fleet/ssh/connect/host-keys.ts';
import { createKeyScanner, type KeyScanner } from '../../fleet/ssh/key-scanner.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, FleetError, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { say } from '../render/lines.ts';
import { columns } from '../render/table.ts';
import { declined, type Result, show } from '../result.ts';
import { connected, notesOnly } from '../run/hosts.ts';
import { openHosts } from '../run/inventory.ts';
import { writeInventory } from '../setup/inventory-file.ts';

/** Handshakes at the same time; only the key exchange takes place. */
const parallel = 32;

/** Shows every host's key and writes it to the inventory after confirmation. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const { signal } = context;
  const json = options.flag('json');
  const open = openHosts(context, input);
  const limit = pLimit(parallel);
  const wiring = { connect: createKeyScanner, draw: notesOnly };
  const answers = await connected(context, input, open, wiring, ({ hosts, transport: scanner }) =>
    Promise.all(hosts.map((host) => limit(() => scan(scanner, host, context)))),
  );
  signal.throwIfAborted();
  const keys = answers.filter((answer): answer is ShownKey => 'key' in answer);
  const problems = answers.filter((answer): answer is Problem => 'code' in answer);
  const result: Result = {
    exitCode: problems.length > 0 ? ExitCode.hostFailed : ExitCode.ok,
    json: { keys },
    problems,
  };
  // On a terminal the keys are shown before the question.
  if (!json)
    show(context, {
      ...result,
      text: () => `${trustLines(keys, context.stdout.columns ?? Infinity).join('\n')}\n`,
      aside: problems,
    });
  const fresh = keys.filter(({ pinned }) => pinned !== 'same');
  if (fresh.length === 0 || (json && !options.flag('yes'))) return result;
  const { file } = open.fleet;
  const question = `Pin ${fresh.length === 1 ? 'this key' : `these ${fresh.length} keys`} in ${file}?`;
  if (!options.flag('yes') && !(await confirm(context, question))) return declined;
  const pins = new Map(fresh.map(({ host, key }) => [host, [`${key.type} ${key.base64}`]]));
  const kept = writeInventory(file, pinHostKeys(readFileSync(file, 'utf8'), pins), { replace: true });
  if (!json) say(context.stderr, `pinned in ${file}${kept === undefined ? '' : `; backup: ${kept}`}\n`);
  return result;
}

async function scan(
  scanner: KeyScanner,
  { name, ssh }: HostSpec,
  { signal, log }: Pick<Context, 'signal' | 'log'>,
): Promise<ShownKey | Problem> {
  try {
    const { key, known } = await scanner.scan({ name, ssh }, signal);
    const pins = ssh.hostKeys;
    const same = pins.includes(`${key.type} ${key.base64}`) || pins.includes(key.fingerprint);
    return { host: name, key, known, pinned: pins.length === 0 ? 'none' : same ? 'same' : 'different' };
  } catch (error) {
    if (signal.aborted && !(error instanceof FleetError)) throw error;
    return hostProblem(name, error, log);
  }
}

/** A host's key, compared with known_hosts and the inventory. */
export interface ShownKey {
  readonly host: string;
  readonly key: HostKey;
  readonly known: 'known' | 'unknown' | 'changed' | 'revoked';
  readonly pinned: 'none' | 'same' | 'different';
}

const knownWords = { known: 'same', unknown: 'missing', changed: 'DIFFERENT', revoked: 'REVOKED' };
const pinnedWords = { none: 'missing', same: 'same', different: 'DIFFERENT' };

/** Returns one line for each host, with differences in capitals. */
export function trustLines(keys: readonly ShownKey[], width: number): string[] {
  if (keys.length === 0) return ['no keys'];
  const rows = [
    ['HOST', 'TYPE', 'FINGERPRINT', 'KNOWN_HOSTS', 'INVENTORY'],
    ...keys.map(({ host, key, known, pinned }) => [
      host,
      key.type,
      key.fingerprint,
      knownWords[known],
      pinnedWords[pinned],
    ]),
  ];
  return columns(rows, width);
}
