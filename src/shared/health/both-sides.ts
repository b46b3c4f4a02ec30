import type { Answered } from '../base/reading.ts';
import type { Finding } from './verdict.ts';

/** What nvidia-smi shows on the host, or in a container with all its GPUs. */
export interface Side {
  readonly driverVersion?: string | undefined;
  readonly gpus: readonly {
    /** Empty: it could not be read. */
    readonly uuid: string;
    /** `Default`, `Exclusive_Process`, … */
    readonly computeMode?: string | undefined;
  }[];
}

const recreate =
  'run `systemctl restart nvidia-cdi-refresh.service` on the host and check again; if it stays, compare `nvidia-smi -L` on the host with that in a container';

/** Finds differences between a host and a container on it. A value that was not read on a side is unknown, not equal. Pure. */
export function compareSides(host: Answered<Side>, container: Answered<Side>): readonly Finding[] {
  if (host.kind === 'unknown') return [notCompared([`on the host: ${host.why}`])];
  if (container.kind === 'unknown') return [notCompared([`in the container: ${container.why}`])];
  const [outside, inside] = [host.value, container.value];
  const unknown: string[] = [];
  const found = [
    ...driverFindings(outside, inside, unknown),
    ...gpuFindings(outside, inside, unknown),
    ...modeFindings(outside, inside, unknown),
  ];
  return unknown.length === 0 ? found : [...found, notCompared(unknown)];
}

function driverFindings(host: Side, container: Side, unknown: string[]): readonly Finding[] {
  const [outside, inside] = [host.driverVersion || undefined, container.driverVersion || undefined];
  if (outside === undefined || inside === undefined) unknown.push(`driver version ${where(outside, inside)}`);
  else if (outside !== inside)
    return [
      differs('container.driver-differs', `the host has driver ${outside}, and containers get ${inside}`, {
        next: `${recreate}; if the driver was just upgraded, reboot the host`,
      }),
    ];
  return [];
}

function gpuFindings({ gpus: host }: Side, { gpus: container }: Side, unknown: string[]): readonly Finding[] {
  const [outside, inside] = [uuidsOf(host), uuidsOf(container)];
  const isWhole = outside.size === host.length && inside.size === container.length;
  if (!isWhole)
    unknown.push(
      `UUIDs ${where(outside.size === host.length || undefined, inside.size === container.length || undefined)}`,
    );
  const only = [
    ...(isWhole ? onlyIn(outside, inside, 'only on the host') : []),
    ...(isWhole ? onlyIn(inside, outside, 'only in the container') : []),
  ];
  if (host.length === container.length && only.length === 0) return [];
  const counts = `the host lists ${gpusText(host.length)}, and a container with all GPUs ${container.length}`;
  return [differs('container.gpus-differ', [counts, ...only].join('; '), { next: recreate })];
}

function modeFindings(
  { gpus: host }: Side,
  { gpus: container }: Side,
  unknown: string[],
): readonly Finding[] {
  const modes = new Map(container.map(({ uuid, computeMode }) => [uuid, computeMode]));
  const both = host.filter(({ uuid }) => uuid !== '' && modes.has(uuid));
  return both.flatMap(({ uuid, computeMode: outside }) => {
    const inside = modes.get(uuid);
    if (outside === undefined || inside === undefined) {
      unknown.push(`compute mode of ${uuid} ${where(outside, inside)}`);
      return [];
    }
    if (outside === inside) return [];
    return [
      differs(
        'container.compute-mode-differs',
        `its compute mode is ${outside} on the host, and ${inside} in a container`,
        {
          gpu: uuid,
          next: 'set it again on the host: `nvidia-smi -c DEFAULT`, and check that no other program changes it',
        },
      ),
    ];
  });
}

const uuidsOf = (gpus: Side['gpus']): ReadonlySet<string> =>
  new Set(gpus.map(({ uuid }) => uuid).filter((uuid) => uuid !== ''));

function onlyIn(side: ReadonlySet<string>, other: ReadonlySet<string>, place: string): readonly string[] {
  const uuids = [...side].filter((uuid) => !other.has(uuid));
  return uuids.length === 0 ? [] : [`${place}: ${uuids.join(', ')}`];
}

function where(host: unknown, container: unknown): string {
  const sides = [
    ...(host === undefined ? ['on the host'] : []),
    ...(container === undefined ? ['in the container'] : []),
  ];
  return `(not read ${sides.join(' and ')})`;
}

function gpusText(count: number): string {
  return `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;
}

type DifferenceCode = 'container.driver-differs' | 'container.gpus-differ' | 'container.compute-mode-differs';

function differs(code: DifferenceCode, what: string, more: Pick<Finding, 'gpu' | 'next'>): Finding {
  return { code, severity: 'warn', what, ...more };
}

/** True for a difference between host and container. */
export function isDifference({ code }: Pick<Finding, 'code'>): boolean {
  return /^container[.](?:driver-differs|gpus-differ|compute-mode-differs)$/.test(code);
}

/** The most reasons in one finding. */
const mostReasons = 3;

function notCompared(reasons: readonly string[]): Finding {
  const more = reasons.length > mostReasons ? `, and ${reasons.length - mostReasons} more` : '';
  return {
    code: 'container.not-compared',
    severity: 'info',
    what: `whether host and container see the same is unknown: ${reasons.slice(0, mostReasons).join(', ')}${more}`,
    next: 'compare `nvidia-smi` on the host with that in a container',
  };
}
