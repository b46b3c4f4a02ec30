import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import * as z from 'zod';

import type { HostOutcome } from '../../fleet/apply/outcome.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { createFetch } from '../../shared/azure/http/proxy.ts';
import { timestamp } from '../../shared/base/clock.ts';
import type { Context } from '../../shared/base/context.ts';
import { sha256 } from '../../shared/base/digest.ts';
import { type ExitCode, FleetError, type Problem, usageError, whyNot } from '../../shared/base/errors.ts';
import { escapeHidden, foreignJson } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Secret } from '../../shared/base/secret.ts';
import { replaceStateFile } from '../../shared/base/state-file.ts';
import { type Sender, webhookBody } from '../../shared/webhook/message.ts';
import { post } from '../../shared/webhook/post.ts';
import type { Options } from '../options.ts';
import { stateFolder } from '../own-folders.ts';
import { leftAlike, leftCommand, leftLine } from '../render/left.ts';
import { leftMetrics } from '../render/left-metrics.ts';
import type { OpenFleet } from './fleet.ts';
import type { Left } from './only-harmless.ts';
import { replaceFile } from './replace-file.ts';

/** Returns the file for node_exporter. Throws before any host is contacted if it could not be written or would not be read. */
export function textfileOf(context: Pick<Context, 'cwd'>, options: Options): string | undefined {
  const given = options.string('textfile');
  if (given === undefined) return undefined;
  const next = 'name a .prom file in the folder of --collector.textfile.directory of node_exporter';
  if (!options.flag('onlyHarmless'))
    throw usageError({
      code: 'usage.only-harmless',
      what: '--textfile works only with --only-harmless',
      next: 'add --only-harmless, or omit --textfile',
    });
  const file = resolve(context.cwd, given);
  if (!file.endsWith('.prom'))
    throw usageError({
      code: 'usage.option',
      what: '--textfile is not a file that node_exporter reads',
      expected: 'a name that ends with .prom',
      seen: given,
      next,
    });
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw usageError(
      { code: 'output.file', what: `${file} cannot be written`, seen: whyNot(error), next },
      error,
    );
  }
  return file;
}

interface LeftEnd {
  readonly outcomes: readonly HostOutcome[];
  readonly left: readonly Left[];
  readonly exitCode: ExitCode;
  readonly textfile: string | undefined;
}

/** Reports what a run has left: to node_exporter and to the webhooks of its hosts. Returns what could not be reported. */
export async function reportLeft(
  context: Context,
  open: OpenFleet,
  { textfile, ...end }: LeftEnd,
): Promise<readonly Problem[]> {
  const inventory = open.fleet.file;
  const problems: Problem[] = [];
  if (textfile !== undefined) {
    try {
      const text = leftMetrics({ inventory, at: context.clock.wall(), ...end });
      replaceFile(textfile, text, { isShared: true });
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error.problem);
    }
  }
  return open.webhooks.size === 0 ? problems : [...problems, ...(await sendToWebhooks(context, open, end))];
}

/** What was reported of one host. */
export interface Reported {
  readonly host: string;
  /** ISO 8601: when it was found first. */
  readonly since: string;
  readonly what: string;
}

/** What to report now. */
export interface News {
  readonly begun: readonly Left[];
  readonly ended: readonly Reported[];
  /** What is reported afterwards. */
  readonly reported: readonly Reported[];
}

/**
 * Returns what has changed since the last report of these hosts, so that a timer sends no message twice. `known`: the hosts whose
 * changes are known now; what was reported of others stays. Pure.
 */
export function newsOf(
  before: readonly Reported[],
  left: readonly Left[],
  known: ReadonlySet<string>,
  at: string,
): News {
  const earlier = new Map(before.map((reported) => [reported.host, reported]));
  const now = left.filter(({ host }) => known.has(host));
  const open = new Set(now.map(({ host }) => host));
  const begun = now.filter((each) => earlier.get(each.host)?.what !== leftLine(each));
  const changed = new Set(begun.map(({ host }) => host));
  return {
    begun,
    ended: before.filter(({ host }) => known.has(host) && !open.has(host)),
    reported: [
      ...before.filter(({ host }) => !known.has(host) || (open.has(host) && !changed.has(host))),
      ...begun.map((each) => ({ host: each.host, since: at, what: leftLine(each) })),
    ],
  };
}

/** Most names of hosts in an event; the text has all, folded. */
const mostHosts = 64;

/** Returns the body of a message in the format of the manager's messages. Pure. */
export function leftMessage({ begun, ended }: Pick<News, 'begun' | 'ended'>, sender: Sender): string {
  const opened = leftAlike(begun).map(({ hosts, what }) => ({
    hosts,
    what,
    next: leftCommand(hosts),
    since: sender.at,
    state: 'begun',
  }));
  const done = Map.groupBy(ended, ({ what, since }) => JSON.stringify([what, since]));
  const closed = [...done.values()].map((same) => ({
    hosts: same.map(({ host }) => host),
    what: same[0]?.what ?? '',
    next: undefined,
    since: same[0]?.since ?? '',
    state: 'ended',
  }));
  const lines = [
    ...opened.map(({ hosts, what, next }) => `${foldNames(hosts)}: ${what}. Next: ${next}`),
    ...closed.map(({ hosts, since }) => `${foldNames(hosts)}: no changes left (since ${since})`),
  ];
  const events = [...opened, ...closed].map(({ state, since, hosts, what, next }) => ({
    state,
    event: 'changes-left',
    since,
    hosts: hosts.slice(0, mostHosts),
    code: 'provision.left',
    what,
    ...defined({ next }),
  }));
  return webhookBody(lines, events, sender);
}

/** Sends each address one message if anything has changed for its hosts. What is not accepted is sent by the next run. */
async function sendToWebhooks(
  context: Context,
  { fleet, webhooks, caPem }: OpenFleet,
  { outcomes, left }: Pick<LeftEnd, 'outcomes' | 'left'>,
): Promise<readonly Problem[]> {
  const state = stateFolder(context.env, context.home);
  const file = join(state.path, 'left', `${sha256(fleet.file).slice(0, 16)}.json`);
  const before = state.refused === undefined ? await readReported(file) : [];
  const { http, https, noProxy } = fleet.proxy;
  const fetch = createFetch({ ...defined({ http, https, caPem }), noProxy });
  const sender = { host: hostname(), at: timestamp(context.clock) };
  const known = new Set(outcomes.filter(isKnown).map(({ host }) => host));
  const problems: Problem[] = [];
  let reported = before;
  for (const [address, hosts] of byAddress(webhooks)) {
    const of = new Set([...known].filter((host) => hosts.has(host)));
    const news = newsOf(reported, left, of, sender.at);
    if (news.begun.length === 0 && news.ended.length === 0) continue;
    const { signal } = context;
    const how = { program: 'azp-fleet', wall: context.clock.wall(), signal };
    const answer = await post(fetch, address, leftMessage(news, sender), how);
    if (answer.kind === 'taken') reported = news.reported;
    else problems.push(notSent(answer.problem.problem));
  }
  if (reported !== before && state.refused === undefined) problems.push(...writeReported(file, reported));
  return problems;
}

function isKnown({ state }: HostOutcome): boolean {
  return state === 'ok' || state === 'changed';
}

/** Returns the hosts of each address. */
function byAddress(webhooks: OpenFleet['webhooks']): readonly (readonly [Secret, ReadonlySet<string>])[] {
  const groups = Map.groupBy(webhooks, ([, address]) => address.reveal());
  return [...groups.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [[first[1], new Set(same.map(([host]) => host))] as const];
  });
}

function notSent({ code, what, seen }: Problem): Problem {
  return {
    code,
    what,
    ...defined({ seen }),
    next: 'check webhook.url, and network, proxy and certificates of this machine; the next run sends it',
  };
}

const reportedShape = z.array(z.object({ host: z.string(), since: z.string(), what: z.string() }));

/** Reads what was reported; empty if the file is missing or invalid. */
async function readReported(file: string): Promise<readonly Reported[]> {
  try {
    return reportedShape.safeParse(foreignJson(await readFile(file, 'utf8'))).data ?? [];
  } catch {
    return [];
  }
}

function writeReported(file: string, reported: readonly Reported[]): readonly Problem[] {
  try {
    replaceStateFile(file, escapeHidden(`${JSON.stringify(reported)}\n`));
    return [];
  } catch (error) {
    return [
      {
        code: 'output.file',
        what: `the next run will report to the webhook again: ${file} cannot be written`,
        seen: whyNot(error),
        next: 'make its folder writable, or set XDG_STATE_HOME to a folder that is',
      },
    ];
  }
}
