// drain and undrain as a user types them, over ssh, with a running manager.
import { afterEach, beforeEach, expect, test } from 'vitest';

import { runCommand } from '../../../support/command.ts';
import { Keyboard } from '../../../support/keyboard.ts';
import type { ManagerRig } from '../../../support/manager-rig.ts';
import { servedEnv, serveHost, type ServedHost } from '../../../support/served-host.ts';

let served: ServedHost;
let rig: ManagerRig;
/** Scripts that the host got; it answers all with nothing. */
let scripts: string[];
beforeEach(async () => {
  scripts = [];
  served = await serveHost((script) => void scripts.push(script));
  ({ rig } = served);
});
afterEach(() => served.close());

const env = servedEnv;
const azpFleet = (...argv: readonly string[]) => runCommand(argv, { cwd: rig.directory, env });
const asBob = (...argv: readonly string[]) => runCommand(argv, { cwd: rig.directory, env, user: 'bob' });

test('an idle host: the output is the state, with the reason, on the host and in the pool', async () => {
  const { stdout, exitCode } = await azpFleet('drain', 'h200-1', '--reason', 'new fan');
  expect(exitCode).toBe(0);
  const [first = '', second] = stdout.split('\n');
  const said = /^h200-1: its 2 slots take no more jobs: (?:(\d) drained)?(?:; )?(?:(\d) draining)?$/.exec(
    first,
  );
  expect(Number(said?.[1] ?? 0) + Number(said?.[2] ?? 0), first).toBe(2);
  expect(second).toMatch(/^ {2}whole host drained by me@\S+: new fan, since 20\d\d-/);
  await rig.until('drained');
  const again = (await azpFleet('drain', 'h200-1')).stdout;
  expect(again).toContain('its 2 slots take no more jobs: 2 drained\n');
  expect(again).toContain(': new fan, since');
  const agents = await rig.azure.listAgents(rig.poolId);
  expect(agents.map(({ enabled }) => enabled)).toEqual([false, false]);
});

test('undrain reports that slots take jobs again, and that nothing was drained', async () => {
  await azpFleet('drain', 'h200-1');
  const again = await azpFleet('undrain', 'h200-1');
  expect(again.stdout).toBe('h200-1: its 2 slots take jobs again\n');
  await rig.until('idle');
  const none = await azpFleet('undrain', 'h200-1');
  expect(none.stdout).toBe('h200-1: nothing was drained; its 2 slots take jobs\n');
});

test('a drain belongs to a person: another one’s undrain leaves it, says whose it is, and how to end it', async () => {
  await azpFleet('drain', 'h200-1', '--reason', 'new fan');
  await asBob('drain', 'h200-1', '--reason', 'cables');
  expect((await rig.status()).drains.map(({ reason }) => reason)).toEqual(['new fan', 'cables']);
  const left = await asBob('undrain', 'h200-1');
  expect(left.exitCode).toBe(1);
  expect(left.stderr.replace(/me@\S+: new fan, since .*/, 'me: new fan'))
    .toContain(`✗ h200-1 · manager: 1 drain ended; the host stays drained [drain.left]
  seen      whole host drained by me: new fan
  next      run "azp-fleet undrain h200-1 --of me" when it may take jobs again
`);
  expect((await rig.status()).drains.map(({ reason }) => reason)).toEqual(['new fan']);
  expect(await asBob('undrain', 'h200-1', '--of', 'me')).toMatchObject({
    exitCode: 0,
    stdout: 'h200-1: its 2 slots take jobs again\n',
  });
});

test('a slot’s own drain ends on a drained host, which is named', async () => {
  await azpFleet('drain', 'h200-1/0');
  await azpFleet('drain', 'h200-1');
  const { exitCode, stderr } = await azpFleet('undrain', 'h200-1/0');
  expect(exitCode).toBe(1);
  expect(stderr).toContain('1 drain ended; the host stays drained [drain.left]');
  expect((await rig.status()).drains.map(({ slot }) => slot)).toEqual([undefined]);
});

test('undrain ends the drain of an interrupted run, as next actions say', async () => {
  await rig.post('/v1/drain', { reason: 'restart Docker', owner: 'bob@ci', run: 'run-1' });
  expect(await azpFleet('undrain', 'h200-1')).toMatchObject({ exitCode: 0 });
  expect((await rig.status()).drains).toEqual([]);
});

test.each(['18', '24:00', '6 pm', ''])('--until %j is refused before any host is asked', async (time) => {
  const { exitCode, stderr } = await azpFleet('drain', 'h200-1', '--until', time);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('hours and minutes, e.g. 18:00');
  expect((await rig.status()).drains).toEqual([]);
});

test('--until: the host reports the end, its manager ends the drain then, and a past time is tomorrow', async () => {
  const noon = new Date();
  noon.setHours(12, 0, 0, 0);
  const end = new Date(noon);
  end.setHours(15, 30);
  const tomorrow = new Date(end);
  tomorrow.setDate(tomorrow.getDate() + 1);
  const shown = (date: Date) => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  rig.clock.wallAhead = noon.getTime() - Date.now();
  const drain = () =>
    runCommand(['drain', 'h200-1', '--until', '15:30'], { cwd: rig.directory, env, clock: rig.clock });
  const today = await drain();
  expect(today.stdout).toContain(`, until ${shown(end)}\n`);
  expect(today.stderr).not.toContain('tomorrow');
  await rig.until('drained');
  rig.clock.wallAhead += 4 * 3_600_000;
  await rig.until('idle');
  expect((await rig.status()).drains).toEqual([]);
  const { stderr } = await drain();
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
    `15:30 is past today: the drain ends tomorrow, ${shown(tomorrow)}`,
  );
  expect((await rig.status()).drains).toMatchObject([{ until: tomorrow.toISOString() }]);
});

test('HOST/SLOT and HOST/AGENT name one slot in every command', async () => {
  const [, second = { agent: '' }] = (await rig.status()).slots;
  const drained = await azpFleet('drain', 'h200-1/0', '--reason', 'fan', '--wait');
  expect(drained.stdout).toMatch(
    /^h200-1: slot 0 takes no more jobs: 1 drained\n {2}slot 0 drained by me@\S+: fan/,
  );
  expect((await rig.status()).drains.map(({ slot }) => slot)).toEqual(['0']);
  await azpFleet('drain', `h200-1/${second.agent}`);
  expect((await rig.status()).drains.map(({ slot }) => slot)).toEqual(['0', '1']);
  expect((await azpFleet('undrain', 'h200-1/0')).stdout).toMatch(/^h200-1: slot 0 takes jobs again\n/);
  expect((await rig.status()).drains.map(({ slot }) => slot)).toEqual(['1']);
  expect(await azpFleet('logs', `h200-1/${second.agent}`)).toMatchObject({ exitCode: 0 });
  expect(await azpFleet('logs', 'h200-1/7')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('there is no slot 7') as string,
  });
});

test.each(['h200-1/', '/0', '!h200-1/0'])('drain %s is refused before any host is asked', async (target) => {
  const { exitCode, stderr } = await azpFleet('drain', target);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('[usage.target]');
});

test.each(['drain', 'undrain'])('%s with an empty name applies to no host', async (verb) => {
  const { exitCode, stderr } = await azpFleet(verb, '');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('"" selects no host');
});

test('a host whose facts cannot be read: they are not needed, as for logs and exec', async () => {
  for (const command of [
    ['drain', 'h200-1'],
    ['logs', 'h200-1'],
    ['undrain', 'h200-1'],
    ['exec', '--', 'true'],
  ])
    expect((await azpFleet(...command)).exitCode, command[0]).toBe(0);
  expect(scripts).not.toContainEqual(expect.stringContaining('azp-fleet-facts'));
});

test('an unknown slot is reported with the existing ones', async () => {
  const { exitCode, stderr } = await azpFleet('drain', 'h200-1', '--slot', '7');
  expect(exitCode).toBe(1);
  expect(stderr.slice(stderr.indexOf('✗'))).toBe(`✗ h200-1 · manager: there is no slot 7 [slot.unknown]
  expected  slots: 0, 1, or the names of their agents
  next      correct the name of the slot
`);
});

test.each([
  ['drain', [], 'Drain every host of the inventory?'],
  ['drain', ['all'], 'Drain every host of the inventory?'],
  ['undrain', [], 'Let every host of the inventory take jobs again?'],
  ['undrain', ['--limit', 'all'], 'Let every host of the inventory take jobs again?'],
])('%s %j asks before it applies to every host', async (verb, more, question) => {
  const { stdin } = new Keyboard();
  let heard = '';
  const done = runCommand([verb, ...more], {
    cwd: rig.directory,
    env,
    terminal: true,
    stdin: Object.assign(stdin, { isTTY: true }),
    heard: (text) => void (heard += text),
  });
  await expect.poll(() => heard).toContain(question);
  stdin.write('n\r');
  expect((await done).exitCode).toBe(4);
  expect((await rig.status()).drains).toEqual([]);
});
