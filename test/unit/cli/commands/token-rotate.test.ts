// Rotates the token of three hosts with a practice server that accepts two tokens, and cuts the run at every effect.
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { canaryFirst, runRotate } from '../../../../src/cli/commands/token.ts';
import { Options } from '../../../../src/cli/options.ts';
import { show } from '../../../../src/cli/result.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { lockLost } from '../../../../src/fleet/ssh/session/lock.ts';
import { connectionLost } from '../../../../src/fleet/ssh/failures.ts';
import type { Session, Transport } from '../../../../src/fleet/ssh/transport.ts';
import { awaitTokenScript, rotationOf } from '../../../../src/fleet/steps/manager/token.ts';
import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { AzStandIn } from '../../../support/az.ts';
import { StillClock } from '../../../support/clock.ts';
import { quietContext } from '../../../support/command.ts';
import { factsOf } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const names = ['gpu-1', 'gpu-2', 'gpu-3'];

/** A host whose manager uses the installed token once the server accepts it. */
class TokenHost {
  readonly name: string;
  token = 'good-token';
  /** The token that its manager has used with success. */
  accepted = 'good-token';
  state: 'active' | 'inactive' = 'active';
  /** Its manager is of a release that does not report the token. */
  isOld = false;
  isGone = false;
  /** Its manager cannot reach the server. */
  isCutOff = false;

  constructor(name: string) {
    this.name = name;
  }

  facts(): Facts {
    const token = isAccepted(this.accepted) ? { accepted: this.#digest(this.accepted) } : {};
    return factsOf({
      machineId: `machine-${this.name}`,
      manager: {
        current: '/opt/azp-fleet/versions/1',
        unitActive: this.state,
        credentialDigest: this.#digest(this.token),
        status: managerStatus(this.isOld ? {} : { token }),
      },
    });
  }

  #digest(token: string): string {
    return sha256(`machine-${this.name}:${token}`);
  }

  session(): Session {
    const closed = new AbortController();
    const effect = <T>(what: string, work: () => T | Promise<T>): Promise<T> => {
      if (this.isGone) return Promise.reject(connectionLost(this.name, 'a change'));
      return effected(`${this.name} ${what}`, work);
    };
    return {
      host: this.name,
      closed: closed.signal,
      script: async (text) => {
        if (!text.includes(awaitTokenScript))
          return { code: 0, stdout: '\nend\n', stderr: '', durationMs: 1 };
        const isUsed = await effect('wait', async () => {
          if (this.isCutOff || !(await isServed(this.token))) return false;
          this.accepted = this.token;
          return true;
        });
        const stderr = isUsed
          ? ''
          : 'failed: Azure DevOps has not accepted the new token\nexpected: a request\nseen: no\nnext: run azp-fleet status\n';
        return { code: isUsed ? 0 : 1, stdout: '', stderr, durationMs: 1 };
      },
      upload: (source, path) =>
        effect(`upload ${path}`, () => {
          if (!('bytes' in source)) throw new Error('not from memory');
          this.token = Buffer.from(source.bytes).toString();
          return true;
        }),
      lock: () =>
        effect('lock', () => ({
          lost: () => false,
          release: () => effected(`${this.name} unlock`, () => undefined),
        })),
      durable: () => Promise.reject(lockLost(this.name)),
      follow: () => Promise.resolve(undefined),
      socketAgent: () => {
        throw new Error('no order is sent to a manager');
      },
      close: async () => closed.abort(),
    };
  }
}

let machines: ReadonlyMap<string, TokenHost>;
let log: string[];
/** Aborts the run at this effect; 0: never. */
let cutAt: number;
let stop: AbortController;
const of = (name: string): TokenHost => machines.get(name) ?? new TokenHost(name);
const tokens = () => names.map((name) => of(name).token);
const acceptedTokens = () => names.map((name) => of(name).accepted);

async function effected<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  log.push(what);
  const isCut = log.length === cutAt;
  // Half of the cuts come before the effect.
  if (isCut && cutAt % 2 === 0) {
    stop.abort();
    stop.signal.throwIfAborted();
  }
  const result = await work();
  if (isCut) stop.abort();
  return result;
}

/** Environment and log of a run. */
let env: Readonly<Record<string, string>>;
let logged: string[];

let accepted: readonly string[] = [];
const isAccepted = (token: string) => accepted.includes(token);
function accept(...list: readonly string[]): void {
  accepted = list;
  writeFileSync(fake.tokenFile, `${list.join('\n')}\n`, { mode: 0o600 });
}

/** Makes a request as a manager does. */
async function isServed(token: string): Promise<boolean> {
  let seen: Secret | undefined;
  const credential = patCredential(new Secret(token), (secret) => (seen = secret));
  const client = fake.client({ credential });
  await client.listPools().catch(() => undefined);
  return seen?.reveal() === token;
}

beforeEach(async () => {
  log = [];
  logged = [];
  env = {};
  cutAt = 0;
  stop = new AbortController();
  machines = new Map(names.map((name) => [name, new TokenHost(name)] as const));
  accept('good-token', 'next-token');
  await fake.client().ensurePool('gpu-lab');
  writeFileSync(join(fake.folder, 'secret'), 'next-token\n', { mode: 0o600 });
  writeFileSync(
    join(fake.folder, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { file: ./secret }
defaults: { pool: gpu-lab, sshConfig: none }
hosts: { ${names.map((name) => `${name}: {}`).join(', ')} }
`,
  );
});

async function rotate(positionals: readonly string[] = [], given: Readonly<Record<string, unknown>> = {}) {
  const { context, written } = quietContext({
    cwd: fake.folder,
    terminal: { columns: 80, rows: 24 },
    signal: stop.signal,
    env,
    log: { ...silentLogger, log: (...line) => logged.push(JSON.stringify(line)) },
  });
  const connect = (): Transport => ({
    close: () => Promise.resolve(),
    connect: ({ name }) =>
      of(name).isGone
        ? Promise.reject(new FleetError({ code: 'ssh.refused', host: name, what: 'no connection' }))
        : Promise.resolve(of(name).session()),
  });
  const result = await runRotate(
    context,
    {
      positionals,
      rest: [],
      options: new Options({ yes: true, ...given }),
      inventory: 'lab.yaml',
      commandLine: 'azp-fleet token rotate',
      commands: [],
    },
    {
      wiring: { ...overSsh, connect },
      tokensUrl: () => 'https://vssps.dev.azure.com/example/_apis/tokens/pats',
      gather: (_session, { name }) => Promise.resolve(of(name).facts()),
      sleep: () => Promise.resolve(),
    },
  );
  show(context, result);
  const { token, hosts } = result.json as {
    readonly token?: { readonly finish: string | null };
    readonly hosts?: readonly { readonly host: string; readonly state: string }[];
  };
  const states = Object.fromEntries((hosts ?? []).map(({ host, state }) => [host, state]));
  return { ...result, token, states, out: written.stdout, err: written.stderr };
}

describe('a rotation', () => {
  test('replaces the token on one host, proves it, then on all others; nothing else is done on a host', async () => {
    const { exitCode, out, token } = await rotate();
    expect(exitCode).toBe(0);
    expect(acceptedTokens()).toEqual(['next-token', 'next-token', 'next-token']);
    const one = (name: string) => [
      `${name} lock`,
      `${name} upload /etc/azp-fleet/token`,
      `${name} wait`,
      `${name} unlock`,
    ];
    expect(log.slice(0, 4)).toEqual(one('gpu-1'));
    expect(log.toSorted()).toEqual(names.flatMap(one).toSorted());
    expect(token).toMatchObject({ replaced: 3, left: [], outside: [], finish: null });
    expect(out).toContain('has accepted the new token from every host of the inventory (3)');
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      `Revoke the earlier token, which the file ${join(fake.folder, 'secret')} had before: ${fake.server.organization}/_usersSettings/tokens`,
    );
    // The practice server no longer accepts the old one.
    accept('next-token');
    expect((await rotate()).exitCode).toBe(0);
  });

  test('never shows the token', async () => {
    const { out, err, json } = await rotate();
    expect(`${out}${err}${JSON.stringify(json)}`).not.toMatch(/next-token|good-token/);
  });

  test('with the token that the hosts have already: says so, and touches no host', async () => {
    await rotate();
    log = [];
    const { exitCode, out, token } = await rotate();
    expect([exitCode, log]).toEqual([0, []]);
    expect(token).toMatchObject({ replaced: 0, left: [] });
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      'Azure DevOps accepts this token from 3 hosts already: nothing to replace. To rotate, put a new token into',
    );
  });

  test('names the hosts outside the run, and the command that finishes', async () => {
    const { exitCode, out, token } = await rotate(['gpu-2']);
    expect(exitCode).toBe(0);
    expect(tokens()).toEqual(['good-token', 'next-token', 'good-token']);
    expect(token?.finish).toBe('azp-fleet token rotate gpu-1 gpu-3');
    expect(out).toContain('To finish: azp-fleet token rotate gpu-1 gpu-3');
    expect(out).toContain('Then revoke');
  });

  test('lists unreachable hosts with the command that finishes; it then touches only these', async () => {
    of('gpu-3').isGone = true;
    const { exitCode, states, token } = await rotate();
    expect(exitCode).toBe(1);
    expect(states).toEqual({ 'gpu-1': 'changed', 'gpu-2': 'changed', 'gpu-3': 'unreachable' });
    expect(token?.finish).toBe('azp-fleet token rotate gpu-3');
    of('gpu-3').isGone = false;
    log = [];
    expect((await rotate(['gpu-3'])).exitCode).toBe(0);
    expect(acceptedTokens()).toEqual(['next-token', 'next-token', 'next-token']);
    expect(log.every((line) => line.startsWith('gpu-3'))).toBe(true);
  });

  test('a canary that does not prove the token keeps it from all others', async () => {
    of('gpu-1').isCutOff = true;
    const { exitCode, states, out, token } = await rotate();
    expect(exitCode).toBe(1);
    expect(states).toEqual({ 'gpu-1': 'failed', 'gpu-2': 'skipped', 'gpu-3': 'skipped' });
    expect(tokens()).toEqual(['next-token', 'good-token', 'good-token']);
    expect(token?.finish).toBe('azp-fleet token rotate gpu-1 gpu-2 gpu-3');
    expect(out).toContain('has not accepted the new token');
    of('gpu-1').isCutOff = false;
    expect((await rotate()).exitCode).toBe(0);
    expect(acceptedTokens()).toEqual(['next-token', 'next-token', 'next-token']);
  });

  test('--dry-run shows the plan, and writes nothing', async () => {
    const { exitCode, out } = await rotate([], { dryRun: true });
    expect([exitCode, log]).toEqual([0, []]);
    expect(out).toContain('replace the token (root only), and wait until the manager uses it');
  });
});

describe('the rights of the token are checked before any host gets it', () => {
  test.each<[string, () => Promise<unknown>, string]>([
    [
      'a read-only token',
      () => fake.control.setToken('read-only'),
      'the token may not register agents, so no host gets it',
    ],
    ['an expired token', () => fake.control.setToken('expired'), 'the token has expired'],
    [
      'a user who does not administer the pool',
      () => fake.control.deny(['pools.manage']),
      'the user of the token does not administer pool gpu-lab, so no host gets it',
    ],
  ])('%s', async (_, arrange, what) => {
    await arrange();
    await expect(rotate()).rejects.toMatchObject({
      problem: { what: expect.stringContaining(what) as string },
    });
    expect(log).toEqual([]);
    expect(tokens()).toEqual(['good-token', 'good-token', 'good-token']);
    const { pools } = await fake.control.overview();
    expect(pools.find(({ name }) => name === 'gpu-lab')?.agents).toEqual([]);
  });
});

describe('a run that is cut at every effect', () => {
  test.each(Array.from({ length: 12 }, (_, index) => index + 1))(
    'number %i: the next run ends as one that was not cut',
    async (effect) => {
      cutAt = effect;
      await rotate().catch(() => undefined);
      expect(stop.signal.aborted).toBe(true);
      // Every lock that was taken is released.
      const locked = new Set(log.flatMap((line) => (/ lock$/.exec(line) ? line.split(' ')[0] : [])));
      const released = new Set(log.flatMap((line) => (/ unlock$/.exec(line) ? line.split(' ')[0] : [])));
      if (effect % 2 === 0 && log[effect - 1]?.endsWith(' lock') === true)
        locked.delete(log[effect - 1]?.split(' ')[0]);
      expect(released).toEqual(locked);
      cutAt = 0;
      stop = new AbortController();
      const { exitCode, token } = await rotate();
      expect([exitCode, token?.finish]).toEqual([0, null]);
      expect(tokens()).toEqual(['next-token', 'next-token', 'next-token']);
      expect(acceptedTokens()).toEqual(tokens());
    },
  );
});

test('--valid-for needs --mint', async () => {
  await expect(rotate([], { validFor: '30d' })).rejects.toMatchObject({ problem: { code: 'usage.option' } });
});

describe('--mint', () => {
  const minted = 'minted0secret0minted0secret0minted0secret0minted0sec';
  const scope = 'vso.agentpools_manage';
  const earlier = { displayName: 'gpu hosts', validTo: '2026-12-24T09:00:00Z', scope };
  const others = [
    { displayName: 'packages', validTo: '2026-12-24T09:00:00Z', scope: 'vso.packaging' },
    { displayName: 'everything', validTo: '2027-01-01T00:00:00Z', scope: 'app_token' },
  ];
  let az: AzStandIn;
  const file = () => join(fake.folder, 'secret');
  const kept = () => readdirSync(fake.folder).filter((name) => name.startsWith('secret.'));
  const posts = () => az.calls().filter(({ argv }) => argv.includes('post'));
  const inventory = (change: (text: string) => string) => {
    const yaml = join(fake.folder, 'lab.yaml');
    writeFileSync(yaml, change(readFileSync(yaml, 'utf8')));
  };
  const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

  beforeEach(() => {
    az = new AzStandIn(mkdtempSync(join(fake.folder, 'az-')));
    az.behave({ secret: minted, tokens: [earlier, ...others] });
    env = { PATH: az.bin, OF_THE_USER: 'kept', AZURE_LOGGING_ENABLE_LOG_FILE: 'yes' };
    writeFileSync(file(), 'good-token\n', { mode: 0o600 });
    accept('good-token', minted);
  });

  test('creates the token, stores it, rotates, names the earlier one, and removes its copy', async () => {
    const { exitCode, out, err, json } = await rotate([], { mint: true });
    expect(exitCode).toBe(0);
    expect(acceptedTokens()).toEqual([minted, minted, minted]);
    expect(readFileSync(file(), 'utf8')).toBe(`${minted}\n`);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(kept()).toEqual([]);
    const [post] = posts();
    expect(post?.body).toMatchObject({ scope, allOrgs: false });
    const days = (Date.parse(String(post?.body?.['validTo'])) - new StillClock().wall()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect(post?.env).toMatchObject({ OF_THE_USER: 'kept', AZURE_LOGGING_ENABLE_LOG_FILE: 'no' });
    expect(json).toMatchObject({
      token: { minted: { name: post?.body?.['displayName'] }, earlier: { kind: 'candidates' } },
    });
    expect(flat(out)).toContain(
      'one of these, if the user of az created it: "gpu hosts" (expires 2026-12-24), "everything" (expires 2027-01-01)',
    );
    expect(flat(out)).toContain('set "expires" of the token: ');
    const everything = `${out}${err}${JSON.stringify(json)}${logged.join('\n')}${JSON.stringify(az.calls())}`;
    expect(everything).not.toMatch(new RegExp(`${minted}|good-token`));
  });

  test('the expiry in the inventory tells the earlier token', async () => {
    inventory((text) => text.replace('{ file: ./secret }', '{ file: ./secret, expires: 2026-12-24 }'));
    const { out } = await rotate([], { mint: true, validFor: '30d' });
    expect(flat(out)).toContain(
      'The earlier token, by its expiry in the inventory: "gpu hosts" (expires 2026-12-24)',
    );
    expect(flat(out)).not.toContain('"everything"');
  });

  test('a canary that fails keeps the earlier token beside the new one; the next run creates none', async () => {
    of('gpu-1').isCutOff = true;
    const { exitCode, out } = await rotate([], { mint: true });
    expect(exitCode).toBe(1);
    const [copy = ''] = kept();
    expect(readFileSync(join(fake.folder, copy), 'utf8')).toBe('good-token\n');
    expect(statSync(join(fake.folder, copy)).mode & 0o777).toBe(0o600);
    expect(out.replaceAll(/\s+/g, '')).toContain(copy);
    expect(tokens()).toEqual([minted, 'good-token', 'good-token']);
    of('gpu-1').isCutOff = false;
    // Not even az is needed to continue.
    az.behave({ isLoggedIn: false });
    const { exitCode: second, out: end } = await rotate([], { mint: true });
    expect(second).toBe(0);
    expect(flat(end)).toContain('The name of the earlier token is unknown: ERROR: Please run');
    expect([posts().length, acceptedTokens(), kept()]).toEqual([1, [minted, minted, minted], []]);
  });

  test('--dry-run creates and writes nothing', async () => {
    const { exitCode, out } = await rotate([], { mint: true, dryRun: true, yes: false });
    expect([exitCode, log, posts(), kept()]).toEqual([0, [], [], []]);
    expect(flat(out)).toContain('Would create a token "azp-fleet ');
    expect(readFileSync(file(), 'utf8')).toBe('good-token\n');
  });

  test.each<[string, () => void, string]>([
    ['not logged in', () => az.behave({ isLoggedIn: false }), 'azure.az-login'],
    [
      'creation disabled',
      () => az.behave({ patTokenError: 'disablePatCreationPolicyViolation' }),
      'azure.pat-disabled',
    ],
    [
      'az dies after the token was created',
      () => az.behave({ secret: minted, isKilled: true }),
      'azure.az-failed',
    ],
  ])('%s: file and hosts keep the earlier token', async (_, arrange, code) => {
    arrange();
    await expect(rotate([], { mint: true })).rejects.toMatchObject({
      problem: {
        code,
        ...(code === 'azure.az-failed'
          ? {
              next: expect.stringMatching(
                /if .*_usersSettings\/tokens lists "azp-fleet .*", revoke it/,
              ) as string,
            }
          : {}),
      },
    });
    expect([readFileSync(file(), 'utf8'), kept(), log]).toEqual(['good-token\n', [], []]);
  });

  test('a run that was cut before the token was stored begins again', async () => {
    writeFileSync(`${file()}.before-20250101T000000Z`, 'good-token\n', { mode: 0o600 });
    expect((await rotate([], { mint: true })).exitCode).toBe(0);
    expect([posts().length, kept()]).toEqual([1, []]);
  });

  test.each([
    ['env', '{ env: AZP_TOKEN }', 'takes it from the variable AZP_TOKEN', 'usage.mint'],
    ['cmd', '{ cmd: "pass azp" }', 'takes it from the command pass azp', 'usage.mint'],
  ])('%s: is refused, and names the next action', async (_, source, what, code) => {
    inventory((text) => text.replace('{ file: ./secret }', source));
    await expect(rotate([], { mint: true })).rejects.toMatchObject({
      problem: {
        code,
        what: expect.stringContaining(what) as string,
        next: expect.stringContaining('set token: { file: PATH }') as string,
      },
    });
    expect(az.calls()).toEqual([]);
  });
});

describe('what a host needs', () => {
  const digest = (machineId: string) => sha256(`${machineId}:next-token`);
  const host = (change: (host: TokenHost) => void) => {
    const machine = new TokenHost('h200-1');
    accepted = ['good-token', 'next-token'];
    change(machine);
    return rotationOf(machine.facts(), 'h200-1', digest).map((each) =>
      'refused' in each ? `refused: ${each.what}; ${each.next}` : each.title,
    );
  };
  const provision = 'run "azp-fleet provision h200-1": it also stores the new token';
  test.each<[string, (host: TokenHost) => void, readonly string[]]>([
    ['another token', () => undefined, ['replace the token (root only), and wait until the manager uses it']],
    ['stored, not used', (it) => (it.token = 'next-token'), ['wait until the manager uses the token']],
    ['used', (it) => (it.token = it.accepted = 'next-token'), []],
    [
      'a manager that does not run',
      (it) => (it.state = 'inactive'),
      [`refused: the manager is inactive; ${provision}`],
    ],
    [
      'a manager of the release before',
      (it) => (it.isOld = true),
      [`refused: the manager is 0.2.0, which does not report the token that it uses; ${provision}`],
    ],
  ])('%s', (_, change, expected) => {
    expect(host(change)).toEqual(expected);
  });
});

test('a host that uses the token already is the proof: no other waits for a canary', () => {
  const survey = (name: string, isDone: boolean) => {
    const stages = isDone ? [] : [[{ kind: 'change' }]];
    return { host: { name }, plan: { host: name, factsDigest: '', stages, refusals: [] } };
  };
  const order = (...done: readonly boolean[]) =>
    canaryFirst({
      hosts: done.map((isDone, at) => survey(`h${at}`, isDone)),
    } as unknown as Parameters<typeof canaryFirst>[0]).fleet.pending.map(({ host }) => host);
  expect(order(false, false)).toEqual(['h0', 'h1']);
  expect(order(false, true)).toEqual([]);
});
