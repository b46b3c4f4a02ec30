import { readFileSync } from 'node:fs';

import pLimit from 'p-limit';

import type { Context } from '../../../base/context.ts';
import { ExitCode, FleetError, type Problem } from '../../../base/errors.ts';
import type { HostSpec } from '../../../inventory/fleet.ts';
import { loadFleet } from '../../../inventory/load.ts';
import { pinHostKeys } from '../../../inventory/document/pin.ts';
import { selectHosts } from '../../../inventory/select.ts';
import { problemLines } from '../../../render/problem.ts';
import { type ShownKey, trustLines } from '../../../render/trust.ts';
import { createKeyScanner, type KeyScanner } from '../../../ssh/key-scanner.ts';
import { writeInventory } from '../../../setup/write.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { transportParts } from '../../transport.ts';

/** Handshakes at the same time; nothing but the key exchange takes place. */
const parallel = 32;

/** Shows every host's key and, on a yes, writes it to the inventory. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { options } = input;
  const json = options.flag('json');
  const fleet = loadFleet(input.inventory, context);
  const hosts = selectHosts(fleet, [...options.list('limit'), ...input.positionals]);
  const scanner = createKeyScanner(
    transportParts(context, fleet, (line) => void (json || context.stderr.write(`${line}\n`)), { json }),
  );
  const limit = pLimit(parallel);
  const answers = await Promise.all(hosts.map((host) => limit(() => look(scanner, host, context.signal))));
  scanner.close();
  const keys = answers.filter((answer): answer is ShownKey => 'key' in answer);
  const problems = answers.filter((answer): answer is Problem => 'code' in answer);
  const fresh = keys.filter(({ pinned }) => pinned !== 'same');
  if (json) context.stdout.write(`${JSON.stringify({ schema: 1, keys, problems }, undefined, 2)}\n`);
  else context.stdout.write(`${trustLines(keys).join('\n')}\n`);
  for (const problem of json ? [] : problems) {
    context.stderr.write(`${problemLines(problem, (context.stderr.columns ?? 80) - 1).join('\n')}\n`);
  }
  const code = problems.length > 0 ? ExitCode.hostFailed : ExitCode.ok;
  if (fresh.length === 0) return code;
  if (json && !options.flag('yes')) return code;
  const question = `Pin ${fresh.length === 1 ? 'this key' : `these ${fresh.length} keys`} in ${fleet.file}?`;
  if (!options.flag('yes') && !(await confirm(context, question))) return ExitCode.declined;
  const pins = new Map(fresh.map(({ host, key }) => [host, [`${key.type} ${key.base64}`]]));
  const kept = writeInventory(fleet.file, pinHostKeys(readFileSync(fleet.file, 'utf8'), pins), {
    replace: true,
  });
  if (!json)
    context.stderr.write(`pinned in ${fleet.file}${kept === undefined ? '' : `; the old file is ${kept}`}\n`);
  return code;
}

async function look(
  scanner: KeyScanner,
  { name, ssh }: HostSpec,
  signal: AbortSignal,
): Promise<ShownKey | Problem> {
  try {
    const { key, known } = await scanner.scan({ name, ssh }, signal);
    const pins = ssh.hostKeys;
    const same = pins.includes(`${key.type} ${key.base64}`) || pins.includes(key.fingerprint);
    return { host: name, key, known, pinned: pins.length === 0 ? 'none' : same ? 'same' : 'different' };
  } catch (error) {
    if (error instanceof FleetError) return error.at({ host: name }).problem;
    throw error;
  }
}
