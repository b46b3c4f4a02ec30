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
import { type HostChoice, lineWidth, tell, type Wizard } from './wizard-context.ts';

/** A host that stays, and what is known of it; without a report of its facts where it is kept untested. */
export interface Settled {
  readonly host: HostChoice;
  readonly report: HostReport;
}

/**
 * Tests hosts live and asks what to do about those that fail, until each is well, kept anyway or left out.
 * Returns those that stay in their order, with their GPUs counted.
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
    const looked = open.map(({ host, place }, index) => {
      const report = reports[index] ?? { name: host.name };
      return { place, report, host: report.gpus === undefined ? host : { ...host, gpus: report.gpus } };
    });
    for (const { place, host, report } of looked) if (!report.problem) settled.set(place, { host, report });
    const failed = looked.filter(({ report }) => report.problem !== undefined);
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

/** Questions in the middle of parallel tests are hard to read: `interactive` only where they were asked for. */
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
    for (const notice of wizard.notices().toSorted()) tell(wizard, notice);
  }
}

/** As many as fit on a screen one by one; more are counted. */
const shownOneByOne = 12;

function readyLines(reports: readonly HostReport[], width: number): string[] {
  const ready = reports.filter(({ problem }) => problem === undefined);
  if (ready.length <= shownOneByOne)
    return columns(
      ready.map(({ name, summary = '' }) => [`✔ ${name}`, summary]),
      Infinity,
    ).map((line) => fold(line, width));
  const gpus = ready.reduce((sum, report) => sum + (report.gpus ?? 0), 0);
  return [`✔ ${ready.length} hosts are ready, with ${gpus} GPUs`];
}

interface Failed {
  readonly host: HostChoice;
  readonly report: HostReport;
}

/** What becomes of a host that is not ready. `ask`: tested again, with somebody to answer its questions. */
type Decision = 'retry' | 'ask' | 'drop' | 'keep';
/** The same, and what leads to testing it again as another host, or with another key. */
type Way = Decision | 'edit' | 'give-key' | 'name-key' | 'each';

interface Decided {
  readonly host: HostChoice;
  readonly decision: Decision;
  /** Which of the failed ones it is about. */
  readonly of: number;
}

/** Shows what is wrong, with its cure, and asks: once for many hosts if wanted. */
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
  const way = rest.length < 2 ? 'each' : await askForAll(wizard, rest);
  const decided: Decided[] = [...unlocked];
  for (const { host, report, of } of rest) {
    const own = way === 'each' ? await askForOne(wizard, { host, report }) : way;
    decided.push({ of, ...(await carryOut(wizard, host, own, among)) });
  }
  return decided;
}

async function askForAll({ prompts }: Wizard, rest: readonly Failed[]): Promise<Way> {
  return prompts.choose<Way>('unready', `${rest.length} hosts are not ready:`, [
    ...(prompts.canAsk
      ? ([
          { name: 'Try them again', value: 'retry' },
          { name: 'Decide for each', value: 'each' },
          ...(rest.every(isRefused) ? [{ name: 'Give all of them my key', value: 'give-key' } as const] : []),
        ] as const)
      : []),
    ...leave('them', 'they are'),
  ]);
}

async function askForOne({ prompts }: Wizard, { host, report }: Failed): Promise<Way> {
  const refused = isRefused({ report });
  const ways: readonly Choice<Way>[] = [
    { name: 'Try again', value: 'retry' },
    ...(refused
      ? ([{ name: 'Try again, and ask me for passwords and passphrases', value: 'ask' }] as const)
      : []),
    ...(refused
      ? ([{ name: 'Put my key there; its password is asked for once', value: 'give-key' }] as const)
      : []),
    ...(refused ? ([{ name: 'Name the key file to log in with', value: 'name-key' }] as const) : []),
    { name: 'Correct user, address or port', value: 'edit' },
  ];
  const { problem } = report;
  return prompts.choose<Way>(
    'unready',
    `${host.name} is not ready:`,
    [...(prompts.canAsk ? ways : []), ...leave('it', 'it is')],
    problem !== undefined && prompts.canAsk && cannotReach(problem) ? 'edit' : undefined,
  );
}

function leave(it: string, itIs: string): readonly Choice<Way>[] {
  return [
    { name: `Leave ${it} out`, value: 'drop' },
    { name: `Keep ${it} as ${itIs}`, value: 'keep' },
  ];
}

/** Does what is done at once, and tells what the test is to be run with. */
async function carryOut(
  wizard: Wizard,
  host: HostChoice,
  way: Way,
  among: Among,
): Promise<Pick<Decided, 'host' | 'decision'>> {
  if (way === 'edit') return { host: await editHost(wizard, host), decision: 'retry' };
  if (way === 'give-key') return { host: await giveKey(wizard, host, among), decision: 'retry' };
  if (way === 'name-key') return { host: await nameKey(wizard, host), decision: 'retry' };
  return { host, decision: way === 'each' ? 'retry' : way };
}

/** The host let nobody in. */
function isRefused({ report }: Pick<Failed, 'report'>): boolean {
  return report.problem?.code === 'ssh.auth';
}

function isLocked({ report }: Pick<Failed, 'report'>): boolean {
  const { code } = report.problem ?? {};
  return code === 'ssh.sudo-password-needed' || code === 'ssh.sudo-wrong-password';
}

/** Where the sudo password is kept, asked once for all hosts that want one. */
async function unlock(
  wizard: Wizard,
  locked: readonly (Failed & { readonly of: number })[],
): Promise<Decided[]> {
  const [first, ...others] = locked;
  if (first === undefined) return [];
  const where = others.length === 0 ? first.host.name : `${locked.length} hosts`;
  tell(wizard, `sudo asks for a password on ${where}. The inventory stores only where to find it.`);
  const sudoPassword = await askWorkingSource(wizard, {
    key: 'sudo',
    what: 'the sudo password',
    variable: 'SUDO_PASSWORD',
  });
  if (sudoPassword === undefined) return [];
  return locked.map(({ host, of }) => ({ host: { ...host, sudoPassword }, decision: 'retry', of }));
}

/** The host with another user, address or port. A name that came from the address goes with it. */
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
