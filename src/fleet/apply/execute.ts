import { defined } from '../../shared/base/objects.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import type { Secret } from '../../shared/base/secret.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import type { Session, UploadOptions } from '../ssh/transport.ts';
import { type Action, type Change, packedWith } from '../steps/change.ts';
import type { ApplyTools } from './apply-tools.ts';
import { awaitManager } from './await-manager.ts';
import type { HostConnection } from './connection.ts';
import { Interrupted, type Interruption } from './outcome.ts';

/**
 * Runs one change of the plan's current stage, and throws at any other change. Rejects with `Interrupted` if the signal is aborted
 * before its end.
 */
export async function executeChange(
  change: Change,
  stage: readonly Change[],
  connection: HostConnection,
  host: string,
  tools: ApplyTools,
): Promise<void> {
  if (!stage.includes(change)) throw new Error(`"${change.title}" is not in the plan of ${host}`);
  const { id, title } = change;
  const started = tools.clock.monotonic();
  const together = limitOf(change.actions);
  tools.emit({
    kind: 'change-start',
    host,
    id,
    title,
    since: started,
    ...defined({ limitMs: together }),
  });
  const outcome = { ok: false, resumed: false };
  let begun: Begun = { continues: false };
  try {
    for (const [index, action] of change.actions.entries()) {
      begun = { continues: false };
      tools.signal.throwIfAborted();
      begun = begunBy(action, id, index);
      if (together === undefined) emitLimit(host, id, tools, limitOf([action]));
      outcome.resumed = (await runAction(action, index, change, connection, host, tools)) || outcome.resumed;
    }
    outcome.ok = true;
  } catch (error) {
    if (tools.signal.aborted) throw new Interrupted({ during: 'change', title, ...begun }, error);
    throw error instanceof FleetError ? error.at({ host, step: change.step }) : error;
  } finally {
    tools.emit({
      kind: 'change-end',
      host,
      id,
      title,
      durationMs: Math.round(tools.clock.monotonic() - started),
      ...outcome,
    });
  }
}

/** Emits the limit of the current action, for a change without a total limit. */
function emitLimit(host: string, id: string, { emit, clock }: ApplyTools, limitMs?: number): void {
  emit({ kind: 'change-limit', host, id, since: clock.monotonic(), ...defined({ limitMs }) });
}

/** Returns the sum of the actions' limits in milliseconds; undefined: some have none, or none before they start. */
function limitOf(actions: readonly Action[]): number | undefined {
  const limits = actions.map((action) => ('timeoutS' in action ? action.timeoutS : undefined));
  const known = limits.filter((limit) => limit !== undefined);
  return known.length < limits.length ? undefined : 1000 * known.reduce((sum, limit) => sum + limit, 0);
}

type Begun = Pick<Extract<Interruption, { during: 'change' }>, 'continues' | 'unit'>;

/** Returns whether the action continues on the host without this process, and as which unit. */
function begunBy(action: Action, id: string, index: number): Begun {
  if (action.kind === 'run' && action.durable)
    return { continues: true, unit: changeUnit(unitId(id, index)) };
  return { continues: action.kind === 'reboot' || action.kind === 'await-manager' };
}

/** Returns the id of one action, which names its unit and folder. */
function unitId(id: string, index: number): string {
  return index === 0 ? id : `${id}-${index}`;
}

/** Runs one action; true if an earlier run had started it. */
async function runAction(
  action: Action,
  index: number,
  change: Change,
  connection: HostConnection,
  host: string,
  tools: ApplyTools,
): Promise<boolean> {
  const onLine = (line: string) => tools.emit({ kind: 'change-output', host, id: change.id, line });
  switch (action.kind) {
    case 'run':
      return runScript(action, unitId(change.id, index), change, connection, onLine, tools);
    case 'upload':
      await upload(action, await connection.session(), {
        onLine,
        onTurn: (limitMs) => emitLimit(host, change.id, tools, limitMs),
        signal: tools.signal,
      });
      break;
    case 'credential':
      await storeSecret(action.path, tools.credential, await connection.session(), tools.signal);
      break;
    case 'registries':
      await storeSecret(action.path, tools.registries, await connection.session(), tools.signal);
      break;
    case 'webhook':
      await storeSecret(action.path, tools.webhooks?.get(host), await connection.session(), tools.signal);
      break;
    case 'deregister':
      if (tools.deregister === undefined)
        throw new Error('agents cannot be removed from a pool without Azure DevOps');
      for (const text of await tools.deregister(action, host)) tools.emit({ kind: 'note', host, text });
      break;
    case 'reboot':
      await reboot(connection, host, action.timeoutS, tools);
      break;
    case 'await-manager':
      await awaitManager(() => connection.session(), { ...action, host }, onLine, tools);
      break;
  }
  return false;
}

async function runScript(
  { script, durable, timeoutS }: Extract<Action, { kind: 'run' }>,
  id: string,
  { title }: Change,
  connection: HostConnection,
  onLine: (line: string) => void,
  { owner, signal }: ApplyTools,
): Promise<boolean> {
  const session = await connection.session();
  const totalTimeoutMs = timeoutS * 1000;
  if (durable) {
    const spec = { id, title, script, owner: owner.who, totalTimeoutMs };
    const { code, tail, resumed } = await session.durable(spec, { onLine, signal });
    if (code !== 0) throw scriptFailure(title, code, tail);
    return resumed;
  }
  const options = { totalTimeoutMs, onLine, signal };
  const { code, stdout, stderr } = await session.script(`set -eu\n${script}`, options);
  if (code !== 0) throw scriptFailure(title, code, `${stdout}\n${stderr}`);
  return false;
}

async function upload(
  { artifact, path, mode }: Extract<Action, { kind: 'upload' }>,
  session: Session,
  {
    onLine,
    ...options
  }: { readonly onLine: (line: string) => void } & Pick<UploadOptions, 'onTurn' | 'signal'>,
): Promise<void> {
  const source = artifact.kind === 'file' ? artifact : { bytes: Buffer.from(artifact.text) };
  const name = path.split('/').at(-1);
  let tenths = 0;
  onLine(`sending ${name}: waiting for other uploads`);
  const onProgress = (sent: number, total: number) => {
    const now = Math.floor((10 * sent) / Math.max(total, 1));
    if (now > tenths) onLine(`sending ${name}: ${now * 10} %`);
    tenths = now;
  };
  await session.upload(source, path, {
    mode,
    ...defined({ packed: packedWith(artifact) }),
    onProgress,
    ...options,
    onTurn: (limitMs) => {
      onLine(`sending ${name}`);
      options.onTurn?.(limitMs);
    },
  });
}

async function storeSecret(
  path: string,
  secret: Secret | undefined,
  session: Session,
  signal: AbortSignal,
): Promise<void> {
  if (secret === undefined) throw new Error(`${path} is planned but its content was not read`);
  await session.upload({ bytes: Buffer.from(secret.reveal()) }, path, { mode: 0o600, signal });
}

export const readBootId = 'cat /proc/sys/kernel/random/boot_id\n';
const wellFormed = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * Waits until the host has booted, at most 180 s, because the next facts depend on services that start at boot. `--wait` works from
 * systemd 240 on; that of Enterprise Linux 8 returns at once.
 */
export const settle = `timeout 180 sh -c 'while case $(systemctl is-system-running --wait 2>/dev/null) in
  initializing | starting) sleep 1 ;;
  *) false ;;
esac; do :; done' || :
`;
/** Detached, so that the session closes before the machine goes down. */
export const rebootScript = `nohup sh -c 'sleep 1; systemctl reboot' </dev/null >/dev/null 2>&1 &\n`;

/**
 * Reboots and proves it: a later connection must read another, well-formed boot id. An error text, a refused connection or a short
 * uptime proves nothing, because big machines are slow to go down.
 */
async function reboot(
  connection: HostConnection,
  host: string,
  timeoutS: number,
  tools: Pick<ApplyTools, 'emit' | 'clock' | 'sleep' | 'signal'>,
): Promise<void> {
  const before = await bootId(connection);
  const wait = { since: tools.clock.monotonic(), limitMs: timeoutS * 1000 };
  tools.emit({ kind: 'host-state', host, state: 'rebooting', wait });
  await (await connection.session()).script(rebootScript, { totalTimeoutMs: 15_000 });
  await connection.drop();
  const deadline = tools.clock.monotonic() + timeoutS * 1000;
  let seen = 'still the boot id from before';
  for (let wait = 2000; ; wait = Math.min(wait * 1.5, 15_000)) {
    await tools.sleep(wait + Math.random() * 1000);
    try {
      const now = await bootId(connection);
      if (wellFormed.test(now) && now !== before) break;
      seen = 'still the boot id from before';
    } catch (error) {
      if (tools.signal.aborted || isFinal(error)) throw error;
      seen = error instanceof Error ? error.message : String(error);
    }
    await connection.drop();
    if (tools.clock.monotonic() >= deadline) throw notBack(host, timeoutS, seen);
  }
  await (await connection.session()).script(settle, { totalTimeoutMs: 200_000, signal: tools.signal });
  tools.emit({ kind: 'host-state', host, state: 'applying' });
}

async function bootId(connection: HostConnection): Promise<string> {
  const session = await connection.session();
  const { stdout } = await session.script(readBootId, { as: 'login', totalTimeoutMs: 10_000 });
  return stdout.trim();
}

/** Tells whether waiting is useless: the host has another host key after the reboot. */
function isFinal(error: unknown): boolean {
  return error instanceof FleetError && error.problem.code.startsWith('ssh.host-key');
}

function notBack(host: string, timeoutS: number, seen: string): FleetError {
  return new FleetError({
    code: 'plan.reboot-timeout',
    host,
    what: `the host was not reachable within ${timeoutS} s after its reboot`,
    expected: 'a new boot id over a new connection',
    seen,
    next: 'check its console; when it is up, run "azp-fleet status"; then run the provision again: it continues',
  });
}

/** The most lines of output that are shown of a script that does not explain its error. The debug log has all. */
const shownLines = 6;

/** Returns the error of a failed script: the problem that it printed (`fail` of the steps), or its last lines. */
export function scriptFailure(title: string, code: number, output: string): FleetError {
  const printed = printedProblem(output);
  if (printed !== undefined) return new FleetError({ code: 'change.failed', ...printed });
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return new FleetError({
    code: 'change.failed',
    what: `"${title}" failed with exit code ${code}`,
    seen: lines.slice(-shownLines).join('\n') || 'no output',
    next: 'fix the cause and run the same command again: it continues',
  });
}

/** Parses the last `failed: … expected: … seen: … next: …` of the output; each part may have several lines. */
function printedProblem(output: string): Omit<Problem, 'code'> | undefined {
  const match = /(?:^|\n)failed: ([^\n]*)\nexpected: ([^]*?)\nseen: ([^]*?)\nnext: ([^]*?)\s*$/.exec(
    output.slice(Math.max(0, output.lastIndexOf('failed: '))),
  );
  if (match === null) return undefined;
  const [, what = '', expected = '', seen = '', next = ''] = match;
  return { what, expected, seen: seen.trim() || 'nothing', next };
}
