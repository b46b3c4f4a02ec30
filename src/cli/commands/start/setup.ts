import path from 'node:path';

import type { Context } from '../../../shared/base/context.ts';
import type { ExitCode } from '../../../shared/base/errors.ts';
import { say as sayLines } from '../../render/lines/say.ts';
import { Drafts } from '../../setup/interview/draft.ts';
import { Interview } from '../../setup/interview/interview.ts';
import { terminalAsker, type Asker } from '../../setup/interview/terminal.ts';
import { runSetup, type SetupResult } from '../../setup/wizard.ts';
import { tell } from '../../setup/wizard-context.ts';
import { canAsk } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { stateFolder } from '../../state-folder.ts';
import { finishSetup } from './finish-setup.ts';
import { openWizard } from './open-wizard.ts';
import { suppliedAnswers } from './supplied-answers.ts';

export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { options } = input;
  const supplied = suppliedAnswers(context, options);
  const pipeline = options.integer('testPipeline', { min: 1, max: 2_147_483_647 });
  const asker = canAsk(context) && !options.flag('yes') ? terminalAsker(context) : undefined;
  const file = options.string('output') ?? 'inventory.yaml';
  const say = (...lines: string[]): void =>
    sayLines(context.stdout, lines.map((line) => `${line}\n`).join(''));
  const drafts = asker && new Drafts(stateFolder(context.env, context.home), path.resolve(context.cwd, file));
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
      'Your answers become an inventory. Hosts are looked at, not changed.',
      'Esc: back one question. Ctrl-C: stop; your answers are kept.',
      '',
    );
  let result: SetupResult;
  try {
    result = await interview.run(() => runSetup(wizard, file));
  } catch (error) {
    if (kept) say('', 'Your answers are kept: azp-fleet setup goes on from them.');
    throw error;
  }
  drafts?.remove();
  interview.seal();
  for (const key of interview.unused()) tell({ context, say }, `! nothing has asked for the answer "${key}"`);
  return finishSetup({ context, input, wizard, interview, say, pipeline }, result);
}

/** What an earlier sitting left, where the user wants to go on from it. */
async function askForDraft(asker: Asker, drafts: Drafts, say: (line: string) => void) {
  const draft = drafts.read();
  if (draft === undefined) return [];
  const at = new Date(draft.at).toISOString().slice(0, 16).replace('T', ' ');
  const answer = await asker.ask({
    kind: 'choose',
    key: 'draft',
    message: `Answers from ${at} UTC were kept:`,
    choices: [
      { name: `Go on from them (${draft.given.length})`, short: 'go on', value: 'on' },
      { name: 'Begin anew', value: 'anew' },
    ],
  });
  if (answer === 'on') return draft.given;
  drafts.remove();
  say('');
  return [];
}
