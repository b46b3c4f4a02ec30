import { cannotReach } from '../../fleet/ssh/failures.ts';
import { questionText } from '../../fleet/ssh/questions.ts';
import { nearest } from '../../shared/base/nearest.ts';
import { defined } from '../../shared/base/objects.ts';
import { fold } from '../render/lines.ts';
import { problemLines } from '../render/problem.ts';
import { createProgress } from '../render/progress.ts';
import { columns } from '../render/table.ts';
import { giveKey, nameKey } from './give-key.ts';
import { hostMistake, isNamedByAddress, parseHost } from './host-notation.ts';
import type { Choice } from './question.ts';
import { askHidden, askWorkingSource } from './secrets.ts';
import { sshConfigHosts } from './ssh-hosts.ts';
import { type Among, type HostReport, testHost } from './test-host.ts';
import { type HostChoice, lineWidth, print, type Wizard } from './wizard-context.ts';

/** A host to write to the inventory, with its report; without facts if it is kept although the test failed. */
export interface Settled {
  readonly host: HostChoice;
  readonly report: HostReport;
}

/**
 * Tests hosts and asks what to do about failed ones, until each is ready, kept anyway or removed. Returns the remaining
 * hosts in their order, with their GPUs counted.
 */
export async function checkHosts(
  wizard: Wizard,
  hosts: readonly HostChoice[],
  among: Among,
): Promise<Settled[]> {
  const settled = new Map<number, Settled>();
  let open = hosts.map((host, place) => ({ host, place }));
  let interactive = false;
  for (let round = 1; open.length > 0; round += 1) {
    const tested = open.map(({ host }) => host);
    const reports = await wizard.prompts.once(`test ${round} ${JSON.stringify(tested)}`, () =>
      testAll(wizard, tested, among, interactive),
    );
    wizard.say(...readyLines(reports, lineWidth(wizard)));
    const results = open.map(({ host, place }, index) => {
      const report = reports[index] ?? { name: host.name };
      return { place, report, host: report.gpus === undefined ? host : { ...host, gpus: report.gpus } };
    });
    for (const { place, host, report } of results) if (!report.problem) settled.set(place, { host, report });
    const failed = results.filter(({ report }) => report.problem !== undefined);
    if (failed.length === 0) break;
    const decided = await decide(wizard, failed, among);
    interactive = decided.some(({ decision }) => decision === 'ask');
    open = [];
    for (const { host, decision, of } of decided) {
      const place = failed[of]?.place ?? 0;
      const report = failed[of]?.report ?? { name: host.name };
      if (decision === 'keep') settled.set(place, { host, report });
      else if (decision !== 'drop') open.push({ host, place });
    }
  }
  return [...settled].toSorted(([one], [other]) => one - other).map(([, each]) => each);
}

/** Tests all hosts in parallel. `interactive` allows questions, only if the user chose them: they interrupt the display. */
async function testAll(
  wizard: Wizard,
  hosts: readonly HostChoice[],
  { describe, inventory }: Among,
  interactive: boolean,
): Promise<HostReport[]> {
  const { context } = wizard;
  const progress = createProgress(context, { hosts: hosts.map(({ name }) => name), json: false });
  const transport = wizard.openTransport(
    interactive
      ? (question) =>
          progress.aside(() => askHidden(wizard, questionText(question, context.stdout.columns ?? 80)))
      : undefined,
    inventory,
  );
  try {
    return await Promise.all(
      hosts.map((host) =>
        testHost(
          transport,
          () => describe(host),
          host.name,
          context,
          (state, text) =>
            progress.sink({ kind: 'host-state', host: host.name, state, ...defined({ text }) }),
        ),
      ),
    );
  } finally {
    await progress.finish();
    await transport.close();
    for (const notice of wizard.notices().toSorted()) print(wizard, notice);
  }
}

/** How many ready hosts are listed; of more, only the number is shown. */
const shownOneByOne = 12;

function readyLines(reports: readonly HostReport[], width: number): string[] {
  const ready = reports.filter(({ problem }) => problem === undefined);
  if (ready.length <= shownOneByOne)
    return columns(
      ready.map(({ name, summary = '' }) => [`✔ ${name}`, summary]),
      Infinity,
    ).map((line) => fold(line, width));
  const gpus = ready.reduce((sum, report) => sum + (report.gpus ?? 0), 0);
  return [`✔ ${ready.length} hosts ready, ${gpus} GPUs`];
}

interface Failed {
  readonly host: HostChoice;
  readonly report: HostReport;
}

/** The decision on a host that is not ready. `ask`: test again and pass on its questions. */
type Decision = 'retry' | 'ask' | 'drop' | 'keep';
/** A decision, or an action before the next test: another address or another key. */
type Action = Decision | 'edit' | 'give-key' | 'name-key' | 'each';

interface Decided {
  readonly host: HostChoice;
  readonly decision: Decision;
  /** Index of the failed host. */
  readonly of: number;
}

/** Shows each problem with its fix, and asks what to do, on request once for all hosts. */
async function decide(wizard: Wizard, failed: readonly Failed[], among: Among): Promise<Decided[]> {
  for (const { report } of failed) {
    const { problem } = report;
    if (problem && problem.code !== 'ssh.sudo-password-needed')
      wizard.say('', ...problemLines(problem, lineWidth(wizard)));
  }
  wizard.say('');
  const all = failed.map((each, of) => ({ ...each, of }));
  const unlocked = await unlock(wizard, all.filter(isLocked));
  const rest = all.filter(({ of }) => !unlocked.some((each) => each.of === of));
  const action = rest.length < 2 ? 'each' : await askForAll(wizard, rest);
  const decided: Decided[] = [...unlocked];
  for (const { host, report, of } of rest) {
    const own = action === 'each' ? await askForOne(wizard, { host, report }) : action;
    decided.push({ of, ...(await carryOut(wizard, host, own, among)) });
  }
  return decided;
}

async function askForAll({ prompts }: Wizard, rest: readonly Failed[]): Promise<Action> {
  return prompts.choose<Action>('unready', `${rest.length} hosts are not ready:`, [
    ...(prompts.canAsk
      ? ([
          { name: 'Try them again', value: 'retry' },
          { name: 'Decide for each', value: 'each' },
          ...(rest.every(isRefused)
            ? [{ name: 'Install my key on all of them', value: 'give-key' } as const]
            : []),
        ] as const)
      : []),
    ...leave('them'),
  ]);
}

async function askForOne({ prompts }: Wizard, { host, report }: Failed): Promise<Action> {
  const refused = isRefused({ report });
  const actions: readonly Choice<Action>[] = [
    { name: 'Try again', value: 'retry' },
    ...(refused
      ? ([{ name: 'Try again and ask for passwords and passphrases', value: 'ask' }] as const)
      : []),
    ...(refused
      ? ([{ name: 'Install my key; asks for the login password once', value: 'give-key' }] as const)
      : []),
    ...(refused ? ([{ name: 'Name the key file to log in with', value: 'name-key' }] as const) : []),
    { name: 'Correct user, address or port', value: 'edit' },
  ];
  const { problem } = report;
  return prompts.choose<Action>(
    'unready',
    `${host.name} is not ready:`,
    [...(prompts.canAsk ? actions : []), ...leave('it')],
    problem !== undefined && prompts.canAsk && cannotReach(problem) ? 'edit' : undefined,
  );
}

function leave(it: string): readonly Choice<Action>[] {
  return [
    { name: `Remove ${it}`, value: 'drop' },
    { name: `Keep ${it} anyway`, value: 'keep' },
  ];
}

/** Performs an action and returns the host and decision for the next test. */
async function carryOut(
  wizard: Wizard,
  host: HostChoice,
  action: Action,
  among: Among,
): Promise<Pick<Decided, 'host' | 'decision'>> {
  if (action === 'edit') return { host: await editHost(wizard, host), decision: 'retry' };
  if (action === 'give-key') return { host: await giveKey(wizard, host, among), decision: 'retry' };
  if (action === 'name-key') return { host: await nameKey(wizard, host), decision: 'retry' };
  return { host, decision: action === 'each' ? 'retry' : action };
}

/** Returns whether the login was refused. */
function isRefused({ report }: Pick<Failed, 'report'>): boolean {
  return report.problem?.code === 'ssh.auth';
}

function isLocked({ report }: Pick<Failed, 'report'>): boolean {
  const { code } = report.problem ?? {};
  return code === 'ssh.sudo-password-needed' || code === 'ssh.sudo-wrong-password';
}

/** Asks for the source of the sudo password, once for all hosts that need one. */
async function unlock(
  wizard: Wizard,
  locked: readonly (Failed & { readonly of: number })[],
): Promise<Decided[]> {
  const [first, ...others] = locked;
  if (first === undefined) return [];
  const where = others.length === 0 ? first.host.name : `${locked.length} hosts`;
  print(wizard, `sudo needs a password on ${where}. The inventory stores only its source.`);
  const sudoPassword = await askWorkingSource(wizard, {
    key: 'sudo',
    what: 'the sudo password',
    variable: 'SUDO_PASSWORD',
  });
  if (sudoPassword === undefined) return [];
  return locked.map(({ host, of }) => ({ host: { ...host, sudoPassword }, decision: 'retry', of }));
}

/** Asks for another user, address or port. A name derived from the address changes with it. */
async function editHost(wizard: Wizard, host: HostChoice): Promise<HostChoice> {
  const { prompts, context, sshConfig } = wizard;
  const user = host.user === undefined ? '' : `${host.user}@`;
  const port = host.port === undefined ? '' : `:${host.port}`;
  const configured = await prompts.once('ssh_config', () => sshConfigHosts(context, sshConfig));
  const names = configured.map(({ name }) => name);
  const isKnown = (name: string): boolean => name === host.name || names.includes(name);
  const near = host.address === undefined ? nearest(host.name, names) : undefined;
  const written = host.address ?? host.name;
  const text = await prompts.text(
    `hosts.${host.name}.address`,
    `${host.name}, corrected (user@address:port):`,
    {
      default: `${user}${near ?? (written.includes(':') ? `[${written}]` : written)}${port}`,
      check: (typed) => hostMistake(typed, isKnown),
    },
  );
  const { address: _, user: __, port: ___, ...kept } = host;
  const typed = parseHost(text, isKnown);
  const derived = host.address === undefined || isNamedByAddress(host);
  if (derived || text.includes('=')) return { ...kept, ...typed };
  const address = typed.address ?? typed.name;
  return { ...kept, ...typed, name: host.name, ...(address === host.name ? {} : { address }) };
}
