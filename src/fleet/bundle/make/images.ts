import { createGzip } from 'node:zlib';

import { Labels } from '../../../shared/contract/paths.ts';
import type { BuildPlan, ImagePlan, TopPlan } from '../../../shared/image/plan.ts';
import type { Machine } from '../../packages/vendors.ts';
import type { BundledImage } from '../manifest.ts';
import { docker, type Docker } from './docker.ts';
import type { Download } from './download.ts';
import { gatherByDigest } from './registry/by-digest.ts';
import { loginOf, type Login } from './registry/logins.ts';
import { digestName } from './registry/name.ts';
import type { Spool } from './spool.ts';

export interface ImagesOptions {
  readonly tools: Docker;
  readonly spool: Spool;
  readonly download: Download;
  readonly note: (text: string) => void;
}

/** Builds or pulls the image under the name that the hosts' managers look for, and saves it. */
export async function gatherImage(
  plan: ImagePlan,
  machine: Machine,
  options: ImagesOptions,
): Promise<BundledImage> {
  const { tools, spool, note } = options;
  const { reference } = plan;
  const name = plan.kind === 'pull' ? digestName(reference) : undefined;
  if (name !== undefined) {
    const login = (registry: string): Promise<Login | undefined> => loginOf(registry, tools.env);
    return gatherByDigest(reference, name, machine, { ...options, signal: tools.signal, login });
  }
  if (plan.kind === 'pull') await pull(reference, options);
  else if (plan.kind === 'build') await build(plan, plan.context, plan.args, {}, options);
  else await buildTop(plan, options);
  note(`saving ${reference}`);
  let unpacked = 0;
  let saved: Awaited<ReturnType<Spool['add']>> | undefined;
  await docker(tools, ['save', reference], {
    doing: `save ${reference}`,
    take: async (output) => {
      output.on('data', (chunk: Buffer) => {
        unpacked += chunk.length;
      });
      // Layers are mostly what compresses a little or not at all.
      saved = await spool.add(output.pipe(createGzip({ level: 1 })), tools.signal);
    },
  });
  if (saved === undefined) throw new Error(`${reference} was not saved`);
  const base = plan.kind === 'pull' ? undefined : (plan.kind === 'top' ? plan.under : plan).args['BASE'];
  return { reference, machine, ...(base === undefined ? {} : { base }), sha256: saved.sha256, unpacked };
}

async function pull(reference: string, { tools, note }: ImagesOptions): Promise<void> {
  note(`pulling ${reference}`);
  await docker(tools, ['pull', '-q', reference], { doing: `pull ${reference}` });
}

async function build(
  { reference, labels }: Pick<BuildPlan, 'reference' | 'labels'>,
  context: Buffer,
  args: BuildPlan['args'],
  more: Readonly<Record<string, string>>,
  { tools, note }: ImagesOptions,
): Promise<string> {
  note(`building ${reference}`);
  const all = Object.entries({ ...labels, ...more }).filter(([name]) => name !== Labels.host);
  const options = [
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...all.flatMap(([name, value]) => ['--label', `${name}=${value}`]),
  ];
  await docker(tools, ['build', '-t', reference, ...options, '-'], {
    doing: `build -t ${reference} -`,
    input: context,
    take: async (output) => {
      for await (const _ of output) tools.signal.throwIfAborted();
    },
  });
  const id = await docker(tools, ['image', 'inspect', '--format', '{{.Id}}', reference], {
    doing: `image inspect ${reference}`,
  });
  return id.trim();
}

/** A team's folder on the agent image. Only the whole goes into the bundle: a host that has it needs no other. */
async function buildTop(plan: TopPlan, options: ImagesOptions): Promise<void> {
  const { under } = plan;
  await build(under, under.context, under.args, {}, options);
  const args = { ...plan.args, BASE: under.reference };
  await build(plan, await plan.context(), args, {}, options);
}
