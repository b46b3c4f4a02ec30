import { readFileSync } from 'node:fs';
import path from 'node:path';

import { loadFleet } from '../../fleet/inventory/load.ts';
import { defaultUploads } from '../../fleet/inventory/schema/defaults.ts';
import { credentialSource } from '../../fleet/inventory/secret.ts';
import { createTransport } from '../../fleet/ssh/create-transport.ts';
import { createAzureClient } from '../../shared/azure/create-client.ts';
import { createTokenPermissions } from '../../shared/azure/token-permissions.ts';
import { createTestPipeline, type TestPipeline, type TestRun } from '../../shared/azure/test-run.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { version } from '../../shared/base/version.ts';
import { canAsk } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import type { Options } from '../options.ts';
import { parseArguments } from '../parse.ts';
import { say as sayLines } from '../render/lines.ts';
import { readCa, restOptions } from '../run/fleet.ts';
import { runCommand } from '../run-command.ts';
import { stateFolder } from '../own-folders.ts';
import { completed, readAnswers } from '../setup/answers-file.ts';
import { Drafts, Interview } from '../setup/interview.ts';
import type { Answer } from '../setup/question.ts';
import { secretReader } from '../setup/secrets.ts';
import { type Asker, terminalAsker } from '../setup/terminal.ts';
import { print, type Wizard } from '../setup/wizard-context.ts';
import { runSetup, type SetupResult } from '../setup/wizard.ts';

export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { options } = input;
  const supplied = suppliedAnswers(context, options);
  const pipeline = options.integer('testPipeline', { min: 1, max: 2_147_483_647 });
  const asker = canAsk(context) && !options.flag('yes') ? terminalAsker(context) : undefined;
  const file = options.string('output') ?? 'inventory.yaml';
  const say = (...lines: string[]): void =>
    sayLines(context.stdout, lines.map((line) => `${line}\n`).join(''));
  const state = stateFolder(context.env, context.home);
  const drafts =
    asker && state.refused === undefined
      ? new Drafts(state.path, path.resolve(context.cwd, file))
      : undefined;
  const before = asker && drafts ? await askForDraft(asker, drafts, say) : [];
  let kept = false;
  const interview = new Interview({
    asker,
    supplied,
    before,
    keep: (given) => {
      kept = given.length > 0 && drafts?.keep(given, context.clock.wall()) === true;
    },
    say,
  });
  const wizard = openWizard(context, interview, options.sshConfig(context.cwd), (...lines) => {
    if (!interview.silent) say(...lines);
  });
  if (asker)
    say(
      'Your answers become an inventory. Hosts are checked, not changed.',
      'Esc: back one question. Ctrl-C: stop; your answers are saved.',
      '',
    );
  let result: SetupResult;
  try {
    result = await interview.run(() => runSetup(wizard, file));
  } catch (error) {
    if (kept) say('', 'Your answers are saved. Run azp-fleet setup to resume.');
    throw error;
  }
  drafts?.remove();
  interview.seal();
  for (const key of interview.unused()) print({ context, say }, `! no question used the answer "${key}"`);
  return finishSetup({ context, input, wizard, interview, say, pipeline }, result);
}

/** Returns the answers of an interrupted setup if the user resumes it. */
async function askForDraft(asker: Asker, drafts: Drafts, say: (line: string) => void) {
  const draft = drafts.read();
  if (draft === undefined) return [];
  const at = new Date(draft.at).toISOString().slice(0, 16).replace('T', ' ');
  const answer = await asker.ask({
    kind: 'choose',
    key: 'draft',
    message: `Saved answers from ${at} UTC:`,
    choices: [
      { name: `Resume (${draft.given.length})`, short: 'resume', value: 'resume' },
      { name: 'Start over', value: 'over' },
    ],
  });
  if (answer === 'resume') return draft.given;
  drafts.remove();
  say('');
  return [];
}

/** Options with one answer, and the key of their question. */
const single = {
  organization: 'organization',
  tokenEnv: 'token.env',
  tokenFile: 'token.file',
  tokenCmd: 'token.cmd',
  expires: 'token.expires',
  pool: 'pool',
  agents: 'agents',
  unready: 'unready',
} as const;

/** Options with a list, and the key of their question. */
const several = { host: 'hosts', project: 'projects', dataset: 'datasets' } as const;

/** Returns the answers from options and from the answers file; options take precedence. */
export function suppliedAnswers(context: Pick<Context, 'cwd'>, options: Options): Map<string, Answer> {
  const file = options.string('answers');
  const answers =
    file === undefined ? new Map<string, Answer>() : readAnswers(path.resolve(context.cwd, file));
  for (const [option, key] of Object.entries(single)) {
    const value = options.string(option);
    if (value !== undefined) answers.set(key, value);
  }
  for (const [option, key] of Object.entries(several)) {
    const values = options.list(option);
    if (values.length > 0) answers.set(key, values);
  }
  const added = options.list('add');
  if (added.length > 0) {
    answers.set('existing', 'add');
    answers.set('hosts', [...added, ...options.list('host')]);
  }
  if (options.flag('provision')) answers.set('provision', true);
  return completed(answers);
}

/** Returns the wizard's context. */
export function openWizard(
  context: Context,
  prompts: Interview,
  sshConfig: string | undefined,
  say: Wizard['say'],
): Wizard {
  const notices: string[] = [];
  const { read, know, environment } = secretReader(context, (message) => prompts.hidden(message));
  return {
    context,
    prompts,
    ...defined({ sshConfig }),
    secret: read,
    know,
    openTransport: (ask, inventory) =>
      createTransport({
        ...context,
        env: environment(),
        ask,
        resolveSecret: (source) => read(source, 'the sudo password'),
        notice: (line) => notices.push(line),
        uploads: defaultUploads,
        hosts: inventory,
      }),
    azure: (access) => azureFor(context, access),
    notices: () => notices.splice(0),
    say,
  };
}

function azureFor(
  context: Context,
  { organization, credential, network, secret }: Parameters<Wizard['azure']>[0],
): ReturnType<Wizard['azure']> {
  const { proxy, noProxy = [], ca } = network;
  const caPem = ca === undefined ? undefined : readFileSync(ca, 'utf8');
  const site = defined({ http: proxy, https: proxy, noProxy });
  const options = restOptions(context, { organization, credential, proxy: site }, { secret, caPem });
  return { ...createAzureClient(options), ...createTokenPermissions(options) };
}

interface FinishedSetup {
  readonly context: Context;
  readonly input: CommandInput;
  readonly wizard: Wizard;
  readonly interview: Interview;
  readonly say: (...lines: string[]) => void;
  /** The pipeline to run once the hosts are provisioned. */
  readonly pipeline: number | undefined;
}

/** Runs the steps after the file is written: provisions, prints the pipeline, runs a test pipeline. */
export async function finishSetup(
  setup: FinishedSetup,
  { file, hosts, pool }: SetupResult,
): Promise<ExitCode> {
  const { context, input, interview, say, pipeline } = setup;
  if (file === undefined) return ExitCode.declined;
  const now = await interview.run(() =>
    interview.confirm(
      'provision',
      'Provision now? The plan is shown first, and you confirm it.',
      interview.canAsk,
    ),
  );
  if (!now) {
    say('', ...pipelineLines(file, pool), `Next: azp-fleet plan ${file}`);
    return ExitCode.ok;
  }
  const exitCode = await provisionNow(context, [file, ...hosts], input);
  if (exitCode !== ExitCode.ok) return exitCode;
  say('', ...pipelineLines(file, pool));
  return pipeline === undefined ? exitCode : testPipeline(setup, file, pipeline);
}

/** Runs the test pipeline with the credential of the inventory. */
async function testPipeline(
  { context, wizard, say }: FinishedSetup,
  file: string,
  id: number,
): Promise<ExitCode> {
  const fleet = loadFleet(file, context);
  const secret = await wizard.secret(credentialSource(fleet), 'the token');
  const caPem = await readCa(fleet.proxy.ca);
  const pipelines = createTestPipeline(restOptions(context, fleet, { secret, caPem }));
  return runTestPipeline({ pipelines, projects: fleet.projects, id, say });
}

/** Returns a minimal pipeline for the pool. */
function pipelineLines(file: string, pool: string | undefined): string[] {
  const named = pool === undefined || pool.includes('{') ? [] : ['', `  pool: ${quoted(pool)}`];
  const steps = named.length === 0 ? [] : ['  steps:', '    - script: nvidia-smi', ''];
  return [`For a complete azure-pipelines.yml: azp-fleet pipeline ${file}`, ...named, ...steps];
}

/** Quotes a pool name unless YAML needs no quotes. */
function quoted(pool: string): string {
  return /^[A-Za-z][\w .-]*$/.test(pool) ? pool : JSON.stringify(pool);
}

/** Runs provision through the argument parser, so that every option has its default. */
async function provisionNow(
  context: Context,
  targets: readonly string[],
  { commands, options }: CommandInput,
): Promise<ExitCode> {
  const yes = options.flag('yes') ? ['--yes'] : [];
  const parsed = parseArguments(['provision', ...targets, ...yes], commands, {
    out: (text) => sayLines(context.stdout, text),
    err: (text) => context.stderr.write(text),
    env: context.env,
    version,
    columns: context.stdout.columns ?? 80,
  });
  if (parsed === undefined) throw new TypeError('provision was not parsed');
  return runCommand(context, parsed);
}

/** Longest wait for the test pipeline, in unscaled milliseconds. */
const longestMs = 30 * 60_000;

export interface PipelineTest {
  readonly pipelines: TestPipeline;
  /** The projects that may contain it. */
  readonly projects: readonly string[];
  readonly id: number;
  readonly say: (line: string) => void;
}

/** Runs a pipeline of one of the projects to its end, and prints the result. */
export async function runTestPipeline({ pipelines, projects, id, say }: PipelineTest): Promise<ExitCode> {
  for (const project of projects) {
    const started = await pipelines.start(project, id);
    if (started === undefined) continue;
    say(`Pipeline ${id} of ${project} runs: ${started.url}`);
    return reportRun(await pipelines.wait(project, id, started, longestMs), say);
  }
  throw usageError({
    code: 'usage.option',
    what: `pipeline ${id} not found`,
    expected: 'the number after definitionId= in the URL of a pipeline',
    seen: projects.length === 0 ? 'no projects in the inventory' : `not in ${projects.join(', ')}`,
    next: 'name the project under "projects:" of the inventory, or correct --test-pipeline',
  });
}

function reportRun({ result, url }: TestRun, say: (line: string) => void): ExitCode {
  if (result === 'succeeded') {
    say('✔ pipeline succeeded: the pool runs jobs');
    return ExitCode.ok;
  }
  say(
    result === undefined
      ? `✗ pipeline still runs after ${longestMs / 60_000} minutes`
      : `✗ pipeline ${result}`,
  );
  say(`  next      read its log: ${url}`);
  return ExitCode.hostFailed;
}
