import type { Clock } from '../../shared/base/clock.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import {
  checkNvlinks,
  type GpuLinks,
  isWired,
  readNvlinks,
  unknownLinks,
} from '../../shared/health/nvlink.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { DriverPrograms } from './observe.ts';

/** Interval of the checks where the GPUs have NVLinks; shorter after a finding, which a second check confirms. */
const everyMs = 5 * 60_000;
const againMs = 20_000;
const deadlineMs = 20_000;

/**
 * Checks the NVLinks of hosts with several GPUs: nvidia-smi is asked once whether they have any, and again only where they do, or when
 * the GPUs change.
 */
export class NvlinkWatch {
  readonly #driver: Pick<DriverPrograms, 'run'>;
  readonly #clock: Pick<Clock, 'monotonic' | 'scaled'>;
  /** UUIDs of the GPUs that answered. */
  #asked = '';
  #hasLinks = false;
  #dueAt = Number.NEGATIVE_INFINITY;
  #last: readonly Finding[] = [];
  #findings: readonly Finding[] = [];

  constructor(driver: Pick<DriverPrograms, 'run'>, clock: Pick<Clock, 'monotonic' | 'scaled'>) {
    this.#driver = driver;
    this.#clock = clock;
  }

  /** Those that two checks in a row found: links are inactive while they are trained. */
  get findings(): readonly Finding[] {
    return this.#findings;
  }

  async check(gpus: readonly Pick<GpuReport, 'uuid' | 'name' | 'migMode'>[]): Promise<void> {
    const linked = gpus.filter(({ migMode }) => migMode !== 'enabled');
    const key = linked.map(({ uuid }) => uuid).join();
    const isNew = key !== this.#asked;
    if (isNew) [this.#last, this.#findings] = [[], []];
    if (linked.length < 2) {
      this.#asked = key;
      return;
    }
    if (!isNew && (!this.#hasLinks || this.#clock.monotonic() < this.#dueAt)) return;
    const answer = await this.#driver.run('nvidia-smi', ['nvlink', '--status'], deadlineMs);
    // The GPU check reports an nvidia-smi that hangs.
    if (answer.timedOut) return;
    const links = readNvlinks(answer.output).filter(({ uuid }) => linked.some((gpu) => gpu.uuid === uuid));
    const mustHave = linked.some(({ name }) => isWired(name));
    const found = findingsOf(links, answer, mustHave);
    this.#findings = found.filter(({ code, gpu }) =>
      this.#last.some((before) => before.code === code && before.gpu === gpu),
    );
    this.#last = found;
    this.#asked = key;
    this.#hasLinks = mustHave || links.some(({ kind }) => kind !== 'none');
    this.#dueAt = this.#clock.monotonic() + this.#clock.scaled(found.length === 0 ? everyMs : againMs);
  }
}

function findingsOf(
  links: readonly GpuLinks[],
  { code, output }: { readonly code: number; readonly output: string },
  mustHave: boolean,
): readonly Finding[] {
  if (links.length > 0 || !mustHave || (code === 0 && output.trim() === '')) return checkNvlinks(links);
  const line = foreignLine(output.trim().split('\n').at(-1) ?? '', 100);
  return [unknownLinks(`nvidia-smi nvlink --status exits with ${code}${line === '' ? '' : `: ${line}`}`)];
}
