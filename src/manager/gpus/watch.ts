import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { FleetError } from '../../shared/base/errors.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { type Checkup, conclude, uuidOf } from '../../shared/health/checkup.ts';
import { isDifference, type Side } from '../../shared/health/both-sides.ts';
import { gpuRules, type Rule } from '../../shared/health/gpu-rules.ts';
import { normalizeBusId } from '../../shared/health/gpu.ts';
import { isOfKernelLog } from '../../shared/health/kernel-events.ts';
import { probeHost, probeName } from '../../shared/health/probe.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { GpuReport, SmiReport } from '../../shared/health/smi-report.ts';
import type { Helpers } from '../docker/janitor.ts';
import { bootId } from '../machine/machine-facts.ts';
import type { Cause, Slot } from '../model.ts';
import { DriverPrograms, type HostCheck, checkHost } from './observe.ts';
import { HealthGates } from './health-gate.ts';
import { type WidestLinks, withLostLanes } from './link-width.ts';
import {
  gpuOrder,
  type GpuOrder,
  withoutIgnored,
  withRepair,
  fatalXids,
  keptEvents,
  type XidMemory,
} from './remembered.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** nvidia-smi on eight cold GPUs without persistence mode takes up to 30 s. Real milliseconds. */
export const smiDeadlineMs = 60_000;
/** Interval of the probe containers; shorter after a failed one. */
const probeMs = 30 * 60_000;
const reprobeMs = 60_000;

/** State of the GPUs that survives a restart. */
interface GpuState {
  readonly gpuOrder: GpuOrder | undefined;
  readonly xids: XidMemory | undefined;
}

interface GpuTools extends Pick<ManagerDeps, 'engine' | 'config' | 'clock' | 'root' | 'log' | 'command'> {
  readonly helpers: Helpers;
  readonly history: WidestLinks;
  readonly state: {
    readonly value: GpuState;
    note(change: () => GpuState): Promise<void>;
    update(change: () => GpuState): Promise<void>;
  };
}

/** Checks whether the GPUs of the host can run jobs. */
export class GpuWatch {
  readonly #tools: GpuTools;
  #latest: HostCheck | undefined;
  #report: SmiReport | undefined;
  /** Findings of the last check, with their original severity. */
  #lastFindings: readonly Finding[] = [];
  /** The confirmed result of the checks on the host. */
  #confirmed: Checkup | undefined;
  #lasting: Lasting = new Map();
  #containerFindings: readonly Finding[] = [];
  #unconfirmed: readonly Finding[] = [];
  #problem: Cause | undefined;
  #probeAt = Number.NEGATIVE_INFINITY;
  /** Runs all programs that query the driver. */
  readonly driver: DriverPrograms;
  readonly gates: HealthGates;

  constructor(tools: GpuTools) {
    this.#tools = tools;
    this.driver = new DriverPrograms(tools.command);
    this.gates = new HealthGates(tools.clock);
  }

  get latest(): HostCheck | undefined {
    return this.#latest;
  }

  /** The last report of nvidia-smi: names and UUIDs do not change while it does not answer. */
  get report(): SmiReport | undefined {
    return this.#report;
  }

  /** PCI addresses of GPUs for screens. */
  get ignored(): readonly string[] {
    return this.#latest?.ignored ?? [];
  }

  /** PCI addresses in the order of the slots. */
  get order(): readonly string[] {
    return this.#tools.state.value.gpuOrder?.addresses ?? [];
  }

  /** Why the engine cannot pass GPUs to containers; not a problem of the GPUs. */
  get problem(): Cause | undefined {
    return this.#problem;
  }

  async check(): Promise<void> {
    const { config, clock, root, command, state, history } = this.#tools;
    const boot = await bootId(root);
    const known = this.#memory(boot);
    const {
      xids,
      events: seen,
      ...check
    } = await checkHost({
      root,
      gpus: config.gpus,
      ignore: config.ignoredGpus,
      command,
      driver: this.driver,
      deadlineMs: smiDeadlineMs,
      clock,
      known,
    });
    const judged = withLostLanes(check.checkup, history, config.host);
    const { checkup, lasting } = withOverdue(judged, this.#lasting, {
      at: check.seenAt,
      minuteMs: clock.scaled(60_000),
    });
    this.#lasting = lasting;
    this.#accept({ ...check, checkup });
    const order = gpuOrder(withoutIgnored(state.value.gpuOrder, check.ignored), check.pci, boot, config.gpus);
    const events = fatalXids(xids);
    const others = keptEvents(seen);
    const before = [state.value.gpuOrder, known.events, known.others ?? []];
    if (!isDeepStrictEqual([order, events, others], before)) {
      await state.note(() => ({ gpuOrder: order, xids: { ...known, events, others } }));
    }
  }

  /** Accepts the result of a check. An unconfirmed one does not renew the time of the result. */
  #accept(check: HostCheck): void {
    const checkup = confirmed(check.checkup, this.#lastFindings, this.#confirmed);
    this.#lastFindings = check.checkup.findings;
    this.#confirmed = checkup;
    if (checkup === undefined) return;
    this.#report = mergedReport(this.#report, checkup.report);
    const { at, seenAt } = checkup === check.checkup ? check : (this.#latest ?? check);
    const all = conclude([...checkup.findings, ...this.#containerFindings], checkup.report);
    this.#latest = { pci: check.pci, ignored: check.ignored, at, seenAt, checkup: all };
  }

  /** Notes that a GPU (PCI address), or `all`, was reset or replaced: its earlier XIDs and lanes no longer count. */
  async repaired(gpu: string): Promise<void> {
    const { root, state, history } = this.#tools;
    const address = gpu === 'all' ? gpu : normalizeBusId(gpu);
    if (address !== 'all' && !this.order.includes(address)) throw unknownGpu(gpu, this.order);
    const memory = withRepair(this.#memory(await bootId(root)), address, await uptime(root));
    await state.update(() => ({ gpuOrder: state.value.gpuOrder, xids: memory }));
    history.forgetWidths(address);
    this.gates.open(address === 'all' ? 'all' : this.#devicesAt(address));
  }

  /** Returns the UUIDs of the GPU at this PCI address and of its MIG devices. */
  #devicesAt(address: string): readonly string[] {
    return (this.#report?.gpus ?? [])
      .filter(({ busId }) => busId === address)
      .flatMap(({ uuid, migDevices }) => [uuid, ...migDevices.flatMap((device) => device.uuid ?? [])]);
  }

  /** Returns the XIDs and repairs since this boot. */
  #memory(boot: string): XidMemory {
    const { xids } = this.#tools.state.value;
    return xids?.boot === boot ? xids : { boot, events: [] };
  }

  /** Probes the GPUs from a container of the agents' image, when it is due: a container may not see what the host sees. */
  async probe(images: readonly string[], cdiSpec: boolean): Promise<void> {
    const { engine, config, clock, helpers, log } = this.#tools;
    const check = this.#latest;
    if (
      images.length === 0 ||
      check === undefined ||
      check.pci.length === 0 ||
      this.driver.hanging !== undefined ||
      clock.monotonic() < this.#probeAt
    )
      return;
    const name = probeName(config.host);
    const { findings } = await helpers.during(name, () =>
      probeHost(engine, {
        name,
        host: config.host,
        images,
        cdiSpec,
        expected: { pci: check.pci, ignored: check.ignored },
        hostSide: hostSide(check),
      }),
    );
    const bad = findings.filter((finding) => finding.severity === 'fail' || isDifference(finding));
    // A failure counts the second time: one probe during a restart of Docker must not stop a host.
    const repeated = bad.filter(({ code }) => this.#unconfirmed.some((earlier) => earlier.code === code));
    this.#containerFindings = repeated.filter(isAboutGpus);
    this.#problem = repeated.find(({ code }) => code.startsWith('engine.') && code !== 'engine.unreachable');
    this.#unconfirmed = bad;
    this.#probeAt = clock.monotonic() + clock.scaled(bad.length === 0 ? probeMs : reprobeMs);
    if (bad.some(isAboutGpus)) log.log('warn', 'the GPUs fail in a container', { findings: bad });
    else if (bad.length > 0) log.log('warn', 'the probe container failed', { findings: bad });
  }

  /** Makes the next probe due at once, after a restart of the engine. */
  probeSoon(): void {
    this.#probeAt = Number.NEGATIVE_INFINITY;
  }
}

/** Returns what nvidia-smi shows on the host now: earlier values are not compared with a container. */
function hostSide({ checkup: { report } }: HostCheck): Answered<Side> {
  if (report === undefined) return { kind: 'unknown', why: 'nvidia-smi gave no report' };
  return { kind: 'value', value: report };
}

/** True for a finding about GPUs, not about the engine or the image. */
function isAboutGpus({ code }: Finding): boolean {
  return !code.startsWith('engine.') && code !== 'probe.no-image';
}

/** Adds GPUs that are missing in the newer report; findings say whether they work. */
function mergedReport(before: SmiReport | undefined, now: SmiReport | undefined): SmiReport | undefined {
  if (now === undefined || before === undefined) return now ?? before;
  const missing = before.gpus.filter(
    ({ busId }) => !now.gpus.some((gpu) => gpu.busId === busId && gpu.uuid !== ''),
  );
  return { ...now, gpus: [...now.gpus.filter(({ uuid }) => uuid !== ''), ...missing] };
}

/** Seconds since the boot, as the kernel dates its log. */
async function uptime({ prefix }: HostRoot): Promise<number> {
  return Number.parseFloat(await readFile(`${prefix}/proc/uptime`, 'utf8'));
}

function unknownGpu(gpu: string, order: readonly string[]): FleetError {
  return new FleetError({
    code: 'gpu.unknown',
    what: `no GPU at ${gpu}`,
    expected: ['all', ...order].join(', '),
    next: 'use its PCI address, as in status and findings',
  });
}

/** Finds GPUs that slots share, and whose compute mode lets only one process use them. Pure. */
export function exclusiveShared(
  slots: readonly Pick<Slot, 'name' | 'gpus'>[],
  report: SmiReport | undefined,
): readonly Finding[] {
  return (report?.gpus ?? []).flatMap(({ uuid, busId, computeMode }) => {
    const sharers = slots.filter(({ gpus }) => gpus.includes(uuid)).map(({ name }) => name);
    if (computeMode?.startsWith('Exclusive') !== true || sharers.length < 2) return [];
    const what = `slots ${sharers.join(', ')} share it, and its compute mode (${computeMode}) lets only one process use it`;
    const next = `run \`nvidia-smi -i ${busId} -c DEFAULT\`, or give each slot its own GPU`;
    return [finding('gpu.compute-exclusive', what, { gpu: uuid, next })];
  });
}

/** Findings that fail after some time: since when each was seen without a break, monotonic. */
type Lasting = ReadonlyMap<string, { readonly gpu: string | undefined; readonly since: number }>;

const failsAfterMin = new Map(
  gpuRules.flatMap((rule: Pick<Rule<never>, 'code' | 'failsAfterMin'>) =>
    rule.failsAfterMin === undefined ? [] : [[rule.code, rule.failsAfterMin] as const],
  ),
);

/**
 * Fails findings that have lasted too long, and returns their times for the next check. A GPU without a report keeps its time.
 * Pure.
 */
export function withOverdue(
  checkup: Checkup,
  before: Lasting,
  { at, minuteMs }: { readonly at: number; readonly minuteMs: number },
): { readonly checkup: Checkup; readonly lasting: Lasting } {
  const { report } = checkup;
  const isSilent = (gpu: string | undefined): boolean =>
    report?.gpus.some(({ uuid, busId }) => gpu === (uuid || busId)) !== true;
  const lasting = new Map([...before].filter(([, { gpu }]) => isSilent(gpu)));
  const findings = checkup.findings.map((finding) => {
    const { code, gpu, what } = finding;
    const minutes = failsAfterMin.get(code);
    if (minutes === undefined) return finding;
    const key = `${code} ${gpu}`;
    const since = before.get(key)?.since ?? at;
    lasting.set(key, { gpu, since });
    if (at - since < minutes * minuteMs) return finding;
    return { ...finding, severity: 'fail' as const, what: `${what}, for more than ${minutes} min` };
  });
  return { checkup: conclude(findings, report), lasting };
}

/**
 * Confirms failures of the whole host, and of nvidia-smi itself, by a second check: under load a host may lack processes or
 * memory for it. Failures of one GPU count at once. `last`: findings of the check before. `before`: the confirmed result.
 * Returns the confirmed result: known findings of the affected GPUs stay, and the unconfirmed one is a warning.
 * Undefined: nothing is known yet. Pure.
 */
export function confirmed(
  now: Checkup,
  last: readonly Finding[],
  before: Checkup | undefined,
): Checkup | undefined {
  const doubtful = now.findings.filter(
    (finding) =>
      isDoubtful(finding) &&
      !last.some(
        (earlier) => isDoubtful(earlier) && (earlier.gpu === undefined || earlier.gpu === finding.gpu),
      ),
  );
  if (doubtful.length === 0) return now;
  if (before === undefined) return undefined;
  const isWhole = doubtful.some(({ gpu }) => gpu === undefined);
  const report = isWhole ? before.report : withGpus(now.report, before.report, doubtful);
  const isInDoubt = ({ gpu, code }: Finding): boolean =>
    isWhole ||
    doubtful.some((doubt) => code !== doubt.code && gpu !== undefined && isAt(before.report, gpu, doubt));
  const weakened = now.findings.map((finding) => ({
    ...finding,
    ...(finding.gpu === undefined ? {} : { gpu: uuidOf(report, finding.gpu) }),
    ...(doubtful.includes(finding) ? { severity: 'warn' as const } : {}),
  }));
  const kept = before.findings.filter(
    // The kernel log was read in this check.
    (finding) => isInDoubt(finding) && !isOfKernelLog(finding) && !weakened.some(isSame(finding)),
  );
  return conclude([...weakened, ...kept], report);
}

function isDoubtful({ severity, gpu, code }: Finding): boolean {
  if (severity !== 'fail' || code === 'gpu.count') return false;
  return gpu === undefined || code.startsWith('smi.');
}

function isSame(one: Finding): (other: Finding) => boolean {
  return (other) => other.code === one.code && other.gpu === one.gpu;
}

function isAt(report: SmiReport | undefined, gpu: string, { gpu: address }: Finding): boolean {
  return gpu === address || (address !== undefined && gpu === uuidOf(report, address));
}

/** Returns a report with the last known values of GPUs that did not answer, in bus order. */
function withGpus(
  now: SmiReport | undefined,
  before: SmiReport | undefined,
  doubtful: readonly Finding[],
): SmiReport | undefined {
  if (now === undefined) return before;
  const known = before?.gpus.filter(({ busId }) => doubtful.some(({ gpu }) => gpu === busId)) ?? [];
  const byBus = (a: GpuReport, b: GpuReport): number => (a.busId < b.busId ? -1 : 1);
  return { ...now, gpus: [...now.gpus, ...known].toSorted(byBus) };
}
