import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { type Origin, originsIn } from '../../fleet/inventory/load.ts';
import { selectHosts } from '../../fleet/inventory/select.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { isObject } from '../../shared/base/objects.ts';
import type { CommandInput } from '../command.ts';
import { wrap } from '../render/lines.ts';
import type { Result } from '../result.ts';
import { openHosts } from '../run/inventory.ts';

/** A setting that differs, with the value of each host. */
interface Difference {
  /** As `inventory show` names it: `driver.branch`. */
  readonly key: string;
  readonly values: readonly Value[];
}

interface Value {
  readonly host: string;
  /** Null: the host has none. */
  readonly value: unknown;
  /** Null: the default of azp-fleet. */
  readonly from: Origin | null;
}

/** Shows the settings in which two hosts differ, after groups and defaults, and where the inventory sets each value. */
export function run(context: Context, input: CommandInput): Promise<Result> {
  const { fleet } = openHosts(context, input, []);
  const pair = input.positionals.map((name) =>
    oneHost(selectHosts(fleet, [name], input.options.list('limit')), name),
  );
  const [one, other] = pair;
  if (one === undefined || other === undefined) throw new TypeError('the command takes two hosts');
  const originOf = originsIn(input.inventory, context);
  const differences = differingKeys(one, other).map(({ path, values }): Difference => ({
    key: path.join('.'),
    values: values.map((value, index) => {
      const host = (index === 0 ? one : other).name;
      return { host, value: value ?? null, from: originOf(host, writtenPath(path)) ?? null };
    }),
  }));
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { hosts: [one.name, other.name], differences },
    text: () =>
      differencesText(
        [one.name, other.name],
        differences,
        context.stdout.columns ?? Number.POSITIVE_INFINITY,
      ),
  });
}

function oneHost([host, ...more]: readonly HostSpec[], name: string): HostSpec {
  if (host !== undefined && more.length === 0) return host;
  throw usageError({
    code: 'usage.target',
    what: `${name} selects ${more.length + 1} hosts`,
    expected: 'two hosts, each by its name',
    next: 'list the hosts: azp-fleet inventory list',
  });
}

type Path = readonly string[];

/** Returns the paths at which two hosts differ, and both values. Pure. */
export function differingKeys(
  { name: _one, ...one }: HostSpec,
  { name: _other, ...other }: HostSpec,
): readonly { readonly path: Path; readonly values: readonly [unknown, unknown] }[] {
  const [before, after] = [leaves(one), leaves(other)];
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key) => {
    const [here, there] = [before.get(key), after.get(key)];
    if (JSON.stringify(here?.value) === JSON.stringify(there?.value)) return [];
    return [{ path: (here ?? there)?.path ?? [], values: [here?.value, there?.value] }];
  });
}

/** Returns all values by their paths; the elements of a list of objects by their names. */
function leaves(
  value: unknown,
  path: Path = [],
): ReadonlyMap<string, { readonly path: Path; readonly value: unknown }> {
  const named =
    Array.isArray(value) && value.length > 0 && value.every(isObject)
      ? Object.fromEntries(
          value.map(({ name = '', ...rest }, index) => [String(name === '' ? index : name), rest]),
        )
      : value;
  if (!isObject(named) || Array.isArray(named)) return new Map([[JSON.stringify(path), { path, value }]]);
  return new Map(
    Object.entries(named)
      .filter(([, each]) => each !== undefined)
      .flatMap(([key, each]) => [...leaves(each, [...path, key])]),
  );
}

/** Keys of the inventory for those of a resolved host. */
const written: Readonly<Record<string, Path>> = {
  fence: ['network'],
  gpus: ['gpus', 'count'],
  ignoredGpus: ['gpus', 'ignore'],
  'webhook.offlineS': ['webhook', 'offline'],
  'webhook.queueWaitS': ['webhook', 'queueWait'],
  'idle.afterS': ['idle', 'after'],
  'driver.install': ['driver', 'method'],
  'driver.orNewer': ['driver', 'branch'],
  'docker.orNewer': ['docker', 'version'],
  'toolkit.orNewer': ['toolkit', 'version'],
};

function writtenPath(path: Path): Path {
  const [top, ...rest] = path;
  return written[path.join('.')] ?? (top === 'ssh' ? rest : path);
}

/** Returns a paragraph for each key: the value of each host, and its origin. */
function differencesText(
  hosts: readonly [string, string],
  differences: readonly Difference[],
  columns: number,
): string {
  if (differences.length === 0) return `${hosts.join(' and ')} have the same settings\n`;
  const indent = Math.max(...hosts.map((name) => name.length)) + 4;
  const lines = ({ host, value, from }: Value): readonly string[] => {
    const shown = value === null ? '-' : typeof value === 'string' ? value : JSON.stringify(value);
    const origin = from === null ? 'default' : `${from.layer}, ${from.at}`;
    const text = value === null && from === null ? shown : `${shown}  (${origin})`;
    const [first = '', ...more] = wrap(text, columns, indent, indent);
    return [`${`  ${host}`.padEnd(indent)}${first}`, ...more];
  };
  return differences.map(({ key, values }) => `${[key, ...values.flatMap(lines)].join('\n')}\n`).join('');
}
