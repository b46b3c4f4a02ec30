import { createTestPipeline } from '../../../shared/azure/test-run.ts';
import type { Context } from '../../../shared/base/context.ts';
import { defined } from '../../../shared/base/objects.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { version } from '../../../shared/base/version.ts';
import { loadFleet } from '../../../fleet/inventory/load.ts';
import { credentialSource } from '../../../fleet/inventory/secret-sources.ts';
import { say as sayLines } from '../../render/lines/say.ts';
import type { Interview } from '../../setup/interview/interview.ts';
import type { SetupResult } from '../../setup/wizard.ts';
import type { Wizard } from '../../setup/wizard-context.ts';
import type { CommandInput } from '../../command.ts';
import { parseArguments } from '../../parse.ts';
import { runCommand } from '../../run-command.ts';
import { restOptions } from './open-wizard.ts';
import { runTestPipeline } from './test-pipeline.ts';

interface Sitting {
  readonly context: Context;
  readonly input: CommandInput;
  readonly wizard: Wizard;
  readonly interview: Interview;
  readonly say: (...lines: string[]) => void;
  /** The pipeline to run once the hosts are provisioned. */
  readonly pipeline: number | undefined;
}

/** What comes after the file: the hosts, what a pipeline needs, and one that is run. */
export async function finishSetup(sitting: Sitting, { file, hosts, pool }: SetupResult): Promise<ExitCode> {
  const { context, input, interview, say, pipeline } = sitting;
  if (file === undefined) return ExitCode.declined;
  const now = await interview.run(() =>
    interview.confirm(
      'provision',
      'Provision now? The plan is shown and asked about first.',
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
  return pipeline === undefined ? exitCode : testPipeline(sitting, file, pipeline);
}

/** With the credential of the inventory, wherever the answers have put it. */
async function testPipeline({ context, wizard, say }: Sitting, file: string, id: number): Promise<ExitCode> {
  const { organization, credential, projects, proxy } = loadFleet(file, context);
  const { http, https, noProxy, ca } = proxy;
  const secret = await wizard.secret(credentialSource({ credential }), 'the token');
  const network = defined({ proxy: https ?? http, noProxy, ca });
  const pipelines = createTestPipeline(restOptions(context, { organization, credential, network, secret }));
  return runTestPipeline({ pipelines, projects, id, say });
}

/** The least that a pipeline needs to run there. */
function pipelineLines(file: string, pool: string | undefined): string[] {
  const named = pool === undefined || pool.includes('{') ? [] : ['', `  pool: ${quoted(pool)}`];
  const steps = named.length === 0 ? [] : ['  steps:', '    - script: nvidia-smi', ''];
  return [`azure-pipelines.yml for it, whole: azp-fleet pipeline ${file}`, ...named, ...steps];
}

/** YAML takes these as they are. */
function quoted(pool: string): string {
  return /^[A-Za-z][\w .-]*$/.test(pool) ? pool : JSON.stringify(pool);
}

/** As if typed, so that every option has its default. */
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
  if (parsed === undefined) throw new TypeError('provision was not understood');
  return runCommand(context, parsed);
}
