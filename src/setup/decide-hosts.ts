import type { Problem } from '../base/errors.ts';
import { problemLines } from '../render/problem.ts';
import { askWorkingSource } from './ask-secret.ts';
import type { HostChoice } from './choices.ts';
import { hostMistake, parseHost } from './host-notation.ts';
import type { HostReport } from './test-host.ts';
import { tell, widthOf, type Wizard } from './wizard-context.ts';

/** What becomes of a host that is not ready. `ask`: tested again, with somebody to answer its questions. */
type Decision = 'retry' | 'ask' | 'edit' | 'drop' | 'keep';

/** Shows what is wrong, with its cure, and asks: once for many hosts if wanted. */
export async function decide(
  wizard: Wizard,
  failed: readonly HostChoice[],
  reports: ReadonlyMap<string, HostReport>,
): Promise<(readonly [HostChoice, Decision])[]> {
  const problemOf = (host: HostChoice) => reports.get(host.name)?.problem;
  const locked = failed.filter((host) => sudoCodes.has(problemOf(host)?.code ?? ''));
  for (const host of failed) {
    const problem = problemOf(host);
    if (problem && problem.code !== 'ssh.sudo-password-needed')
      wizard.say('', ...problemLines(problem, widthOf(wizard)));
  }
  wizard.say('');
  const unlocked = await unlock(wizard, locked);
  const rest = failed.filter((host) => !unlocked.some(([other]) => other.name === host.name));
  if (rest.length < 2) return [...unlocked, ...(await eachOf(wizard, rest, problemOf))];
  const all = await wizard.prompts.choose<Decision | 'each'>(`${rest.length} hosts are not ready:`, [
    { name: 'Try them again', value: 'retry' },
    { name: 'Decide for each', value: 'each' },
    { name: 'Leave them out', value: 'drop' },
    { name: 'Keep them as they are', value: 'keep' },
  ]);
  return [
    ...unlocked,
    ...(all === 'each' ? await eachOf(wizard, rest, problemOf) : rest.map((host) => [host, all] as const)),
  ];
}

async function eachOf(
  { prompts }: Wizard,
  hosts: readonly HostChoice[],
  problemOf: (host: HostChoice) => Problem | undefined,
): Promise<(readonly [HostChoice, Decision])[]> {
  const decided: (readonly [HostChoice, Decision])[] = [];
  for (const host of hosts) {
    const decision = await prompts.choose<Decision>(`${host.name} is not ready:`, [
      { name: 'Try again', value: 'retry' },
      ...(problemOf(host)?.code === 'ssh.auth'
        ? [{ name: 'Try again, and ask me for passwords and passphrases', value: 'ask' } as const]
        : []),
      { name: 'Correct user, address or port', value: 'edit' },
      { name: 'Leave it out', value: 'drop' },
      { name: 'Keep it as it is', value: 'keep' },
    ]);
    decided.push([host, decision]);
  }
  return decided;
}

const sudoCodes = new Set(['ssh.sudo-password-needed', 'ssh.sudo-wrong-password']);

/** The one thing that setup can put right itself: where the sudo password is kept. */
async function unlock(
  wizard: Wizard,
  locked: readonly HostChoice[],
): Promise<(readonly [HostChoice, Decision])[]> {
  const [first, ...others] = locked;
  if (first === undefined) return [];
  const where = others.length === 0 ? first.name : `${locked.length} hosts`;
  tell(wizard, `sudo wants a password on ${where}. Only the place where it is kept will be written down.`);
  const sudoPassword = await askWorkingSource(wizard, 'the sudo password', 'SUDO_PASSWORD');
  if (sudoPassword === undefined) return [];
  return locked.map((host) => [{ ...host, sudoPassword }, 'retry'] as const);
}

/** The host with another user, address or port, under the same name. */
export async function editHost({ prompts }: Wizard, host: HostChoice): Promise<HostChoice> {
  const user = host.user === undefined ? '' : `${host.user}@`;
  const port = host.port === undefined ? '' : `:${host.port}`;
  const known = (name: string) => name === host.name;
  const text = await prompts.text(`${host.name}:`, {
    default: `${user}${host.address ?? host.name}${port}`,
    check: (typed) => hostMistake(typed, known),
  });
  const { name, address = name, ...rest } = parseHost(text, known);
  return { ...rest, name: host.name, ...(address === host.name ? {} : { address }) };
}
