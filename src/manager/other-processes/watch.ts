import type { Cause, Hold, Slot } from '../model.ts';
import {
  causeOf,
  type Hanging,
  hangingFindings,
  hangingNow,
  judge,
  type Judgement,
  leftOf,
  processesUnknown,
} from './judge.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { RunCommand } from '../machine/command.ts';
import type { ProcessFacts } from '../machine/process.ts';
import { defined } from '../../shared/base/objects.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import { Alarm, repeat } from '../alarm.ts';
import { isExternal, NotYet } from '../causes.ts';
import { smiDeadlineMs } from '../gpus/watch.ts';
import { type HostEngine, isHostRun } from '../host-mode/host-engine.ts';
import { PresentRuns } from '../host-mode/present-runs.ts';
import { bootId } from '../machine/machine-facts.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import {
  type App,
  appsArguments,
  type GpuKnowledge,
  type MemoryReading,
  readApps,
  readMemoryInUse,
} from './listing.ts';
import {
  idleMemory,
  type MemoryBaselines,
  type GpuSnapshot,
  type GpuProcess,
  usesOf,
  withIdle,
} from './gpu-use.ts';
import {
  isMpsServer,
  Logins,
  type Owners,
  currentOwners,
  type OwnerTools,
  programOf,
  ownerOf,
} from './owners.ts';

interface Verdict {
  readonly cause: Cause;
  /** The processes of the cause. While they stay the same, so does the text, which is the drain reason in the pool. */
  readonly subject: string;
  /** The slot is closed; otherwise no agent starts until the next check. */
  readonly isConfirmed: boolean;
}

/** What blocks the GPUs of each slot. */
class Verdicts {
  readonly #of = new Map<string, Verdict>();

  /** Notes a judgement; `cause` is absent for a free slot. Returns whether the state of the slot changed. */
  note(slot: string, judgement: Judgement, cause: Cause | undefined): boolean {
    const before = this.#of.get(slot);
    if (cause === undefined) return this.#of.delete(slot);
    const next = nextVerdict(before, judgement, cause);
    this.#of.set(slot, next);
    return before?.subject !== next.subject;
  }

  hold(slot: string): Hold | undefined {
    const verdict = this.#of.get(slot);
    if (verdict === undefined) return undefined;
    return { kind: verdict.isConfirmed ? 'close' : 'pause', state: 'waiting', cause: verdict.cause };
  }

  /** Whether a block may end soon. */
  get hasTemporary(): boolean {
    return [...this.#of.values()].some(({ cause }) => cause.code !== 'gpu.in-use');
  }

  /** Forgets removed slots. */
  keep(slots: readonly string[]): void {
    for (const slot of this.#of.keys()) if (!slots.includes(slot)) this.#of.delete(slot);
  }
}

/**
 * Returns the next verdict. A live process is confirmed at once; leftover memory and killed processes by a second check.
 * Pure.
 */
function nextVerdict(before: Verdict | undefined, judgement: Judgement, cause: Cause): Verdict {
  const subject = subjectOf(judgement);
  const isSame = before?.subject === subject;
  return {
    subject,
    cause: isSame ? before.cause : cause,
    isConfirmed: judgement.kind === 'held' || isSame,
  };
}

function subjectOf(judgement: Judgement): string {
  if (judgement.kind === 'clean') return '';
  const processes = judgement.by.map(({ pid, process }) => `${pid}@${process?.startTicks}`).sort();
  return [judgement.kind, judgement.gpu, ...processes].join(' ');
}

const endMs = 10_000;

/**
 * Kills processes by pid and start tick: `sh -c SCRIPT sh PID TICKS…`. A process with another start tick has reused the pid
 * and stays.
 */
export const endScript = `while [ "$#" -ge 2 ]; do
  now=$(tr '\\n' ' ' <"/proc/$1/stat" | sed 's/.*) //' | cut -d ' ' -f 20)
  [ "$now" != "$2" ] || kill -KILL "$1"
  shift 2
done 2>/dev/null
exit 0`;

/** Kills processes through systemd, because the manager has no permission. A process that hangs in the kernel stays. */
export async function endProcesses(
  command: RunCommand,
  processes: readonly Pick<ProcessFacts, 'pid' | 'startTicks'>[],
): Promise<void> {
  // systemd expands $ in commands.
  const script = endScript.replaceAll('$', '$$$$');
  const named = processes.flatMap(({ pid, startTicks }) => [String(pid), String(startTicks)]);
  await command(
    'systemd-run',
    ['--wait', '--pipe', '--quiet', '/bin/sh', '-c', script, 'sh', ...named],
    endMs,
  );
}

/** Interval of checks, as for the health of the GPUs; unscaled milliseconds. */
const checkEveryMs = 20_000;
/** Most checks in a row without a pause while a block may end soon. */
const mostRepeats = 10;
/** An older check is repeated before a launch. Real milliseconds. */
const freshMs = 5_000;
/** Failures of nvidia-smi in a row before slots start without a check. */
const mostUnknown = 3;
/** Most exited containers that are kept. */
const mostEnded = 200;

interface OtherProcessTools extends OwnerTools, Pick<ManagerDeps, 'clock' | 'command' | 'process' | 'root'> {
  readonly engine: Pick<Engine, 'withLabel' | 'listOwn'>;
  readonly host: { readonly engine: Pick<HostEngine, 'requireEnded' | 'rootOf' | 'listOwn'> };
  readonly state: {
    readonly value: { readonly gpuMemory: MemoryBaselines | undefined };
    note(change: () => { readonly gpuMemory: MemoryBaselines }): Promise<void>;
  };
}

/** The manager's slots. */
interface SlotAccess {
  slots(): readonly Slot[];
  /** Returns whether a job runs, or may run, in the slot. Its GPUs are not checked then. */
  isBusy(slot: string): boolean;
  /** Called when the state of a slot changes. */
  changed(): void;
}

/**
 * Checks the GPUs for other processes: after each run, before each launch, and at intervals while agents are idle. It kills
 * leftovers of ended runs; a process of another user is reported, and closes its slots while it runs.
 */
export class OtherProcessWatch {
  readonly #tools: OtherProcessTools;
  readonly #gpus: GpuKnowledge;
  readonly #slots: SlotAccess;
  readonly #runs: PresentRuns;
  readonly #logins: Logins;
  readonly #verdicts = new Verdicts();
  readonly #alarm = new Alarm();
  /** Container → slot. */
  readonly #endedRuns = new Map<string, string>();
  readonly #displays = new Set<string>();
  #memory: MemoryReading | undefined;
  #hanging: Hanging = new Map();
  #unknown = 0;
  /** Start of the last successful check; monotonic. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  #repeats = 0;
  /** Resolves with the error of a failed check. */
  #running: Promise<unknown> | undefined;
  #next: { withMemory: boolean; readonly check: Promise<unknown> } | undefined;

  constructor(tools: OtherProcessTools, gpus: GpuKnowledge, slots: SlotAccess) {
    this.#tools = tools;
    this.#gpus = gpus;
    this.#slots = slots;
    this.#runs = new PresentRuns(tools.engine, tools.host.engine);
    this.#logins = new Logins(tools.command);
  }

  /** Returns why this slot takes no jobs. */
  hold(slot: string): Hold | undefined {
    return this.#verdicts.hold(slot);
  }

  /** Processes on GPUs that hang in the kernel. */
  get findings(): readonly Finding[] {
    const { clock } = this.#tools;
    return hangingFindings(this.#hanging, this.#checkedAt, clock.scaled(60_000));
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#alarm.ring(), { once: true });
    await repeat(this.#tools, { ms: checkEveryMs, signal, alarm: this.#alarm }, async () => {
      const error = await this.#check(true);
      if (error !== undefined && !isExternal(error)) throw error;
    });
  }

  /** Checks the GPUs after a run, so that the next launch needs no check. Never rejects. */
  async ended({ id, labels }: OwnContainer): Promise<void> {
    if (!isHostRun(id)) this.#endedRuns.set(id, labels[Labels.slot] ?? '');
    for (const oldest of [...this.#endedRuns.keys()].slice(0, -mostEnded)) this.#endedRuns.delete(oldest);
    if ((labels[Labels.gpus] ?? '') !== '') await this.#check(true);
  }

  /** Rejects with `NotYet` while other processes use the slot's GPUs, except slots that share them. */
  async requireClean({ name, gpus }: Pick<Slot, 'name' | 'gpus'>): Promise<void> {
    if (gpus.length === 0) return;
    await (this.#next?.check ?? this.#running);
    const age = this.#tools.clock.monotonic() - this.#checkedAt;
    // The memory was read after the last run; only processes are listed again.
    if (age > freshMs) await this.#check(this.#memory === undefined);
    if (this.#unknown > 0 && this.#unknown < mostUnknown) throw new NotYet(processesUnknown);
    const hold = this.#verdicts.hold(name);
    if (hold !== undefined) throw new NotYet(hold.cause);
  }

  /** Starts a check; calls during a running check share the next one. Resolves with the error of a failed one. */
  #check(withMemory: boolean): Promise<unknown> {
    if (this.#running === undefined) {
      this.#running = this.#observe(withMemory)
        .catch((error: unknown) => {
          this.#unknown += 1;
          this.#tools.log.log('warn', 'the check for other processes on the GPUs failed', { error });
          return error;
        })
        .finally(() => (this.#running = undefined));
      return this.#running;
    }
    if (this.#next !== undefined) {
      this.#next.withMemory ||= withMemory;
      return this.#next.check;
    }
    const check = this.#running.then(() => {
      const next = this.#next;
      this.#next = undefined;
      return this.#check(next?.withMemory ?? withMemory);
    });
    this.#next = { withMemory, check };
    return check;
  }

  async #observe(withMemory: boolean): Promise<void> {
    const { clock } = this.#tools;
    const slots = this.#slots.slots();
    const began = clock.monotonic();
    this.#verdicts.keep(slots.map(({ name }) => name));
    if (slots.every(({ gpus }) => gpus.length === 0)) return;
    const listed = await this.#gpus.driver.run('nvidia-smi', appsArguments, smiDeadlineMs);
    // The health check reports that nvidia-smi does not answer.
    if (listed.code !== 0) return this.#noteUnknown();
    if (withMemory) await this.#readMemory(slots);
    const processes = await this.#processes(readApps(listed.output), slots);
    this.#hanging = hangingNow(this.#hanging, processes, began);
    const boot = await bootId(this.#tools.root);
    const snapshot = this.#sight(processes, slots, boot);
    await this.#noteIdle(snapshot, boot);
    await this.#judge(snapshot);
    this.#unknown = 0;
    this.#checkedAt = began;
    await this.#endLeftovers(leftOf(processes));
    this.#repeats = this.#verdicts.hasTemporary ? this.#repeats + 1 : 0;
    if (this.#repeats > 0 && this.#repeats <= mostRepeats) this.#alarm.ring();
  }

  #noteUnknown(): void {
    this.#unknown += 1;
    if (this.#unknown === mostUnknown)
      this.#tools.log.log('warn', 'jobs start without a check for other processes on the GPUs', {
        ...processesUnknown,
      });
  }

  async #readMemory(slots: readonly Slot[]): Promise<void> {
    const parts = slots.some(({ gpus }) => gpus.some((gpu) => gpu.startsWith('MIG-')));
    this.#memory = await readMemoryInUse(this.#gpus, parts);
    for (const [gpu, { displays }] of this.#memory) if (displays) this.#displays.add(gpu);
  }

  async #processes(apps: readonly App[], slots: readonly Slot[]): Promise<readonly GpuProcess[]> {
    if (apps.length === 0) return [];
    const owners = await currentOwners(this.#tools, this.#runs, slots, this.#endedRuns);
    return Promise.all(apps.map((app) => this.#withOwner(app, owners)));
  }

  async #withOwner(app: App, owners: Owners): Promise<GpuProcess> {
    const found = app.pid === undefined ? undefined : await this.#tools.process(app.pid);
    if (found === undefined) return { ...app, owner: { kind: 'hidden' } };
    const [login, starter] = await Promise.all([
      this.#logins.of(found.uid),
      isMpsServer(found) ? this.#tools.process(found.parent) : undefined,
    ]);
    const process = { ...found, login, ...defined({ starter }) };
    return { ...app, process, owner: ownerOf(process, app.usedMiB, owners) };
  }

  #sight(processes: readonly GpuProcess[], slots: readonly Slot[], boot: string): GpuSnapshot {
    return {
      processes,
      memory: this.#memory ?? new Map(),
      baselines: this.#baselines(boot).mib,
      displays: this.#displays,
      report: this.#gpus.report,
      slots,
      isBusy: (slot) => this.#slots.isBusy(slot),
    };
  }

  #baselines(boot: string): MemoryBaselines {
    const { gpuMemory } = this.#tools.state.value;
    return gpuMemory?.boot === boot ? gpuMemory : { boot, mib: {} };
  }

  async #noteIdle(snapshot: GpuSnapshot, boot: string): Promise<void> {
    const known = this.#baselines(boot);
    const next = withIdle(known, idleMemory(snapshot));
    if (next !== known) await this.#tools.state.note(() => ({ gpuMemory: next }));
  }

  async #judge(snapshot: GpuSnapshot): Promise<void> {
    const { config, log } = this.#tools;
    let changed = false;
    for (const slot of snapshot.slots) {
      if (this.#slots.isBusy(slot.name)) continue;
      const judgement = judge(slot.name, usesOf(slot, snapshot), { useDocker: config.jobs.docker });
      const cause = await this.#cause(slot, judgement);
      if (!this.#verdicts.note(slot.name, judgement, cause)) continue;
      changed = true;
      if (cause === undefined) log.log('info', 'the GPUs of a slot are free again', { slot: slot.name });
      else log.log('warn', 'the GPUs of a slot are not free', { slot: slot.name, ...cause });
    }
    if (changed) this.#slots.changed();
  }

  async #cause(slot: Slot, judgement: Judgement): Promise<Cause | undefined> {
    if (judgement.kind === 'clean') return undefined;
    const { command, clock } = this.#tools;
    const seen = judgement.by.flatMap(({ process }) => process ?? []);
    const names = await Promise.all(
      seen.slice(0, 20).map(async (process) => [process.pid, await programOf(command, process)] as const),
    );
    const known = new Map(names);
    return causeOf(judgement, {
      name: (pid) => known.get(pid),
      now: clock.wall(),
      namesGpu: slot.gpus.length > 1,
    });
  }

  async #endLeftovers(left: readonly GpuProcess[]): Promise<void> {
    const processes = left.flatMap(({ process }) => process ?? []);
    if (processes.length === 0) return;
    this.#tools.log.log('warn', 'killing leftovers of ended runs on GPUs', {
      processes: processes.map(({ pid, comm }) => `${comm} (${pid})`),
    });
    await endProcesses(this.#tools.command, processes);
  }
}
