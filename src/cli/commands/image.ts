import type { EventSink } from '../../fleet/apply/events.ts';
import { type BuiltImage, renewImage } from '../../fleet/client/image-build.ts';
import type { ManagerClient } from '../../fleet/client/manager-client.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { observeHosts, describeEach } from '../../fleet/status/collect.ts';
import { imageRow, type ImageRow, type DesiredImage } from '../../fleet/status/image.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, FleetError } from '../../shared/base/errors.ts';
import type { ImageStatus } from '../../shared/contract/status.ts';
import { bases, type Bases } from '../../shared/image/choose.ts';
import type { CommandInput } from '../command.ts';
import { alike } from '../render/alike.ts';
import { type Paint, painter } from '../render/color.ts';
import { wrap } from '../render/lines.ts';
import { createProgress } from '../render/progress.ts';
import { columns } from '../render/table.ts';
import type { Result } from '../result.ts';
import { withHosts } from '../run/hosts.ts';
import { answered, type Managers, withManagers } from '../run/managers.ts';
import { pause } from './managers.ts';

/** Lists the base images for agent images. Contacts no host. */
export function runList({ stdout }: Context): Promise<Result> {
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { ...bases },
    text: () => baseTable(bases, stdout.columns ?? Infinity),
  });
}

/** Shows which image each host gets and why. Changes nothing and does not contact Azure DevOps. */
export async function runWhich(context: Context, input: CommandInput): Promise<Result> {
  const { root, signal, log, clock } = context;
  const observations = await withHosts(context, input, ({ hosts, transport, emit }) =>
    observeHosts(hosts, { transport, root, emit, log, clock, signal, parallel: 50, probe: undefined }),
  );
  const { rows, problems } = describeEach(observations, context.log, imageRow);
  const style = { width: context.stdout.columns ?? 120, paint: painter(context.stdout, context.env) };
  return {
    exitCode: rows.some(isBad) ? ExitCode.hostFailed : ExitCode.ok,
    json: { hosts: rows },
    problems,
    text: () => imageText(rows, style),
  };
}

function isBad({ problem, wanted }: ImageRow): boolean {
  return problem !== undefined || (wanted?.kind === 'chosen' && !wanted.choice.ok);
}

/** Requests that the managers build or pull the agents' image now, and follows the progress. */
export async function runBuild(context: Context, input: CommandInput): Promise<Result> {
  const fresh = input.options.flag('fresh');
  const building = async ({ ask, emit }: Managers) =>
    answered(await ask((manager, { name }) => build(context, manager, name, fresh, emit)), builtText);
  return withManagers(context, input, input.positionals, building, createProgress);
}

async function build(
  context: Context,
  manager: ManagerClient,
  host: string,
  fresh: boolean,
  emit: EventSink,
): Promise<BuiltImage> {
  const change = { host, id: 'image-build', title: 'build the agent image' };
  const started = context.clock.monotonic();
  const end = (ok: boolean, state: 'ok' | 'changed' | 'failed') => {
    emit({
      kind: 'change-end',
      ...change,
      ok,
      durationMs: Math.round(context.clock.monotonic() - started),
      resumed: false,
    });
    emit({ kind: 'host-state', host, state });
  };
  emit({ kind: 'change-start', ...change, since: started });
  try {
    const built = await renewImage(manager, fresh, {
      onLine: (line) => emit({ kind: 'change-output', host, id: change.id, line }),
      sleep: (ms) => pause(ms, context.signal, 'the manager continues'),
    });
    end(true, built.isNew ? 'changed' : 'ok');
    return built;
  } catch (error) {
    if (error instanceof FleetError) end(false, 'failed');
    throw error;
  }
}

/** Returns the base images, newest first, with the driver and GPUs that each requires. */
export function baseTable({ cuda, cpu, repository, flavour, arch }: Bases, width: number): string {
  const rows = cuda.map(({ version, os, minCc, belowCc }) => [
    version.split('.').slice(0, 2).join('.'),
    `${repository}:${version}-${flavour}-${os[0] ?? ''}`,
    belowCc === undefined ? `${minCc} and up` : `${minCc} to below ${belowCc}`,
    os.join(', '),
  ]);
  const all = [['CUDA', 'BASE', 'COMPUTE CAPABILITY', 'SYSTEMS'], ...rows, ['-', cpu.tag, 'no GPU', cpu.os]];
  return `${columns(all, width).join('\n')}\n\nAll for ${arch.join(' and ')}. A host gets the newest version that its driver supports.\n`;
}

/** Returns each host's image, the reason, and the present images. */
export function imageText(
  rows: readonly ImageRow[],
  options: { readonly width: number; readonly paint: Paint },
): string {
  const values = rows.map((row) => ({ host: row.host, value: partsOf(row) }));
  return `${alike(values)
    .map(({ hosts, value }) => imageLines(hosts, value, options).join('\n'))
    .join('\n\n')}\n`;
}

/** Returns pairs of label and text; a text without a label continues the line above. */
function partsOf({
  problem,
  wanted,
  dockerfile,
  slots = [],
  present,
  archives = [],
  others = [],
}: ImageRow): readonly (readonly string[])[] {
  return [
    ...(problem === undefined
      ? []
      : [
          ['problem', problem.what],
          ['next', problem.next ?? ''],
        ]),
    ...(wanted === undefined ? [] : wantedParts(wanted)),
    ...(dockerfile === undefined ? [] : [['on top', topText(dockerfile)]]),
    ...slots.map(({ slot, image }) => [`slot ${slot}`, `${image} (named by the inventory)`]),
    ...(present === undefined ? [] : [['on host', presentText(present)]]),
    ...(present?.pushed === undefined ? [] : [['pushed', present.pushed]]),
    ...(present?.output ?? []).map((line) => ['', line]),
    ...others.map((image) => ['', presentText(image)]),
    ...archives.map(({ archive, sha256, at }) => [
      'agent',
      `${archive}, first seen ${at.slice(0, 10)} and pinned since: sha256 ${sha256}`,
    ]),
  ];
}

function imageLines(
  hosts: readonly string[],
  parts: ReturnType<typeof partsOf>,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const lines = parts.flatMap(([label = '', text = '']) =>
    wrap(text, width - 1, 11, 11).map((line, index) =>
      index === 0 ? `  ${paint('dim', label.padEnd(9))}${line}` : line,
    ),
  );
  return [...wrap(foldNames(hosts), width - 1, 0, 0).map((line) => paint('bold', line)), ...lines];
}

function wantedParts(wanted: DesiredImage): readonly (readonly string[])[] {
  if (wanted.kind !== 'chosen') return [[wanted.kind, `${wanted.reference} (named by the inventory)`]];
  const { choice } = wanted;
  return choice.ok
    ? [
        ['base', choice.tag],
        ['because', choice.why],
      ]
    : [
        ['problem', choice.what],
        ['next', choice.next],
      ];
}

function topText({ folder, builder, push }: NonNullable<ImageRow['dockerfile']>): string {
  return builder === undefined ? folder : `${folder}, built by ${builder} and pushed to ${push}`;
}

function presentText({ state, reference, digest, cause, progress }: ImageStatus): string {
  const rest = cause ?? progress ?? digest?.slice(0, 19);
  return [reference ?? '', state, rest === undefined ? '' : `(${rest})`]
    .filter((part) => part !== '')
    .join(' ');
}

/** Returns the result of a host's build or pull. */
export function builtText(host: string, { reference, digest, isNew }: BuiltImage): string {
  const outcome = isNew ? 'idle agents move to it, busy ones after their job' : 'unchanged';
  return `${host}: ${reference} (${digest.slice(0, 19)}): ${outcome}\n`;
}
