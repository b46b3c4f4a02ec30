import { FleetError } from '../base/errors.ts';
import type { Answered } from '../base/reading.ts';
import { Labels } from '../contract/paths.ts';
import type { Engine, OwnContainer } from '../engine/engine.ts';
import { helperLabels, isOverdue } from '../engine/helpers.ts';
import { compareSides, type Side } from './both-sides.ts';
import { withCuda } from './cuda.ts';
import { deepCheck, deepDeadlineMs, deepScript, type DeepTools, skipped } from './deep.ts';
import { type Checkup, conclude, examine, examineWithoutGpus, type Expectation } from './checkup.ts';
import { deviceRequests, gpuPath } from './device-request.ts';
import { finding } from './findings.ts';
import { explainSmiFailure } from './smi-failure.ts';
import { askSmi } from './smi-run.ts';
import type { Finding } from './verdict.ts';

export interface ProbeOptions {
  /** Of the container; a leftover container of this name is removed first. */
  readonly name: string;
  /** Inventory name of the host, for the label. */
  readonly host: string;
  /**
   * Local images, the best first; the next one is tried where no container starts on one. None is pulled. Any glibc image with
   * /bin/sh works.
   */
  readonly images: readonly string[];
  /** The host has a CDI specification for nvidia.com/gpu. */
  readonly cdiSpec: boolean;
  readonly expected: Expectation;
  /** What nvidia-smi shows on the host, which is compared with the container. */
  readonly hostSide: Answered<Side>;
  /** Also run kernels and test memory on each GPU for which this returns undefined. Absent: do not. */
  readonly deep?: DeepTools['busy'];
  /** Milliseconds for the container, from its creation to its exit; default 60,000: eight cold GPUs take half of that. */
  readonly deadlineMs?: number;
}

/** Returns the name of a host's probe container. Callers that may run at the same time add a suffix. */
export function probeName(host: string, suffix?: string): string {
  return ['azp-fleet-probe', host, suffix].filter((part) => part !== undefined).join('-');
}

/**
 * Runs nvidia-smi and cuInit in a container with all GPUs and no network, and judges their output. Problems of host, engine and
 * runtime are findings and are not thrown.
 */
export async function probeHost(engine: Engine, options: ProbeOptions): Promise<Checkup> {
  if (options.expected.pci.length === 0) return examineWithoutGpus(options.expected.gpus);
  try {
    const images = await localImages(engine, options.images);
    let first: Checkup | undefined;
    for (const image of images) {
      const seen = await probeOn(image, engine, options);
      if (!seen.findings.some(({ code }) => faultOfImage.has(code))) return seen;
      first ??= seen;
    }
    return first ?? conclude([noImage(options.images)], undefined);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return conclude([engineFinding(error)], undefined);
  }
}

/** Failures to start a container that may be its image's fault. */
export const faultOfImage: ReadonlySet<string> = new Set([
  'engine.failed',
  'engine.no-image',
  'engine.not-found',
  'engine.cuda-too-new',
]);

async function probeOn(image: string, engine: Engine, options: ProbeOptions): Promise<Checkup> {
  try {
    const [{ version }, { cdiSpecDirs, now }] = await Promise.all([engine.version(), engine.info()]);
    if (!(await removeLeft(engine, options.name, now))) return conclude(hanging, undefined);
    const path = gpuPath({ version, cdiSpecDirs }, options.cdiSpec);
    const answer = await askSmi(
      options.expected.pci,
      (script) =>
        engine.run(
          options.name,
          probeContainer(options, image, {
            path: path.kind,
            script: withCuda(script),
            gpus: 'all',
            deadlineMs: deadlineOf(options),
          }),
          deadlineOf(options),
        ),
      options.expected.ignored,
    );
    const checkup = compared(examine(answer, 'container', options.expected), options.hostSide);
    if (options.deep === undefined) return checkup;
    const run = (uuid: string) =>
      engine.run(
        options.name,
        probeContainer(options, image, {
          path: path.kind,
          script: deepScript(),
          gpus: [uuid],
          deadlineMs: deepDeadlineMs,
        }),
        deepDeadlineMs,
      );
    const { findings, report } = checkup;
    const deep =
      report === undefined
        ? [skipped('nvidia-smi gave no report in the container')]
        : await deepCheck(report.gpus, findings, { busy: options.deep, run });
    return conclude([...findings, ...deep], report);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return conclude([engineFinding(error)], undefined);
  }
}

/** Adds the differences between host and container. */
function compared({ findings, report }: Checkup, host: Answered<Side>): Checkup {
  const why = 'nvidia-smi gave no report';
  const container =
    report === undefined ? ({ kind: 'unknown', why } as const) : ({ kind: 'value', value: report } as const);
  return conclude([...findings, ...compareSides(host, container)], report);
}

/**
 * Removes leftover probe containers: on a host without a manager only the next probe does. Returns false when one cannot
 * be stopped because its nvidia-smi hangs in the kernel: another would hang, too.
 */
async function removeLeft(engine: Engine, name: string, now: number): Promise<boolean> {
  const left = async (): Promise<readonly OwnContainer[]> =>
    (await engine.listOwn({ [Labels.kind]: 'probe' })).filter(
      (container) => container.name === name || isOverdue(container, now),
    );
  const found = await left();
  if (found.length === 0) return true;
  const removals = await Promise.allSettled(found.map(({ id }) => engine.remove(id)));
  if ((await left()).some(({ state }) => state === 'running' || state === 'removing')) return false;
  const failure = removals.find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
  return true;
}

const hanging = [
  explainSmiFailure(
    { code: -1, output: '', timedOut: true, program: 'nvidia-smi in a container' },
    'container',
  ),
].filter((finding) => finding !== undefined);

function deadlineOf({ deadlineMs = 60_000 }: ProbeOptions): number {
  return deadlineMs;
}

interface ProbeRun {
  readonly path: 'cdi' | 'nvidia';
  readonly script: string;
  /** UUIDs. */
  readonly gpus: readonly string[] | 'all';
  readonly deadlineMs: number;
}

function probeContainer(
  options: ProbeOptions,
  image: string,
  { path, script, gpus, deadlineMs }: ProbeRun,
): Parameters<Engine['run']>[1] {
  return {
    Image: image,
    User: '0:0',
    Entrypoint: ['/bin/sh', '-c', script],
    Cmd: [],
    Env: ['LC_ALL=C', 'NVIDIA_DRIVER_CAPABILITIES=compute,utility'],
    Labels: helperLabels('probe', options.host, deadlineMs),
    HostConfig: {
      NetworkMode: 'none',
      DeviceRequests: deviceRequests(path, gpus, ['compute', 'utility']),
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 64,
    },
  };
}

/** Returns those that are on the host, each once. */
async function localImages(engine: Engine, images: readonly string[]): Promise<readonly string[]> {
  const found = new Map<string, string>();
  for (const image of images) {
    const id = await engine.imageId(image);
    if (id !== undefined && !found.has(id)) found.set(id, image);
  }
  return [...found.values()];
}

function noImage(images: readonly string[]): Finding {
  const checked = images.join(', ') || 'none';
  return finding('probe.no-image', `the host has no image for the probe container (checked: ${checked})`);
}

function engineFinding({ problem }: FleetError): Finding {
  const seen = problem.seen === undefined ? '' : `: ${problem.seen.split('\n')[0]?.slice(0, 200)}`;
  const what = problem.next === undefined ? `${problem.what}${seen}` : problem.what;
  return finding(problem.code, what, { next: problem.next ?? 'check `journalctl -u docker` on the host' });
}
