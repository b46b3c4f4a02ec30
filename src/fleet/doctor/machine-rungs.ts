import type { Problem } from '../../shared/base/errors.ts';
import type { Answered, Reading } from '../../shared/base/reading.ts';
import {
  climb,
  type MachineRung,
  broken,
  brokenBy,
  ok,
  type Rung,
  type RungResult,
  unknown,
} from './ladder.ts';

/** What was read of this machine, and through it of Azure DevOps. */
export interface MachineSeen {
  /** Version of Node. */
  readonly node: string;
  /** What `ssh -V` prints; absent: there is no ssh. */
  readonly ssh: Reading<string>;
  /** Milliseconds by which this machine's clock is ahead of the server's. */
  readonly aheadMs: Answered<number>;
  /** Free space for files that are sent to hosts. */
  readonly disk: Answered<{ readonly path: string; readonly freeBytes: number }>;
  /** The problem of the inventory; absent: it was read. */
  readonly configuration?: Problem;
  /** Number of hosts in the inventory. */
  readonly hosts: number;
  readonly token: TokenSeen;
}

/** What is known of the token, and how the organization answered it. */
export interface TokenSeen {
  /** Why it cannot be read; absent: it was read. */
  readonly problem?: Problem;
  readonly organization?: string;
  /** Of the inventory. */
  readonly expires?: string;
  /** Its expiry has passed, or is near. */
  readonly expiry?: Problem;
  /** The answer to a request with it; absent: none was made. */
  readonly answer?: { readonly problem?: Problem };
  /** Undefined: the server does not report it. */
  readonly mayWrite?: Answered<boolean | undefined>;
}

/** Logins of agents fail where the clock is off by more. */
const clockLimitMs = 5 * 60_000;
/** Bytes for Node's runtime and the manager of both architectures, which are kept here, and the debug log. */
const leastFree = 500_000_000;

type Checks = Readonly<Record<MachineRung, Omit<Rung<MachineRung, MachineSeen>, 'id'>>>;

const checks: Checks = {
  node: { title: 'Node', dependsOn: [], check: ({ node }) => ok(node) },
  ssh: {
    title: 'ssh',
    dependsOn: [],
    check: ({ ssh }) => {
      if (ssh.kind === 'value') return ok(ssh.value);
      if (ssh.kind === 'unknown') return unknown(ssh.why);
      return broken({
        code: 'ssh.no-openssh',
        what: 'the program ssh is missing on this machine',
        expected: 'the OpenSSH client, which reads ~/.ssh/config',
        next: 'install it: sudo apt-get install openssh-client',
      });
    },
  },
  'local-clock': {
    title: 'clock',
    dependsOn: [],
    check: ({ aheadMs }) => {
      if (aheadMs.kind === 'unknown') return unknown(aheadMs.why);
      const { value } = aheadMs;
      if (Math.abs(value) <= clockLimitMs) return ok('as that of Azure DevOps, within 5 min');
      const minutes = Math.round(Math.abs(value) / 60_000);
      return broken({
        code: 'doctor.clock-off',
        what: `the clock of this machine is ${minutes} min ${value > 0 ? 'ahead of' : 'behind'} that of Azure DevOps`,
        next: 'synchronize it: sudo timedatectl set-ntp true',
      });
    },
  },
  'local-disk': {
    title: 'disk',
    dependsOn: [],
    check: ({ disk }) => {
      if (disk.kind === 'unknown') return unknown(disk.why);
      const { path, freeBytes } = disk.value;
      const free = `${(freeBytes / 1e9).toFixed(1)} GB free`;
      if (freeBytes >= leastFree) return ok(free);
      return broken({
        code: 'doctor.no-space',
        what: `too little disk space on this machine in ${path}`,
        expected: `${leastFree / 1e9} GB free`,
        seen: free,
        next: 'free space on this machine, or set XDG_CACHE_HOME to a folder on another disk',
      });
    },
  },
  configuration: {
    title: 'configuration',
    dependsOn: [],
    check: ({ configuration, hosts }) =>
      configuration === undefined
        ? ok(`${hosts} ${hosts === 1 ? 'host' : 'hosts'}`)
        : broken(
            brokenBy({
              next: 'correct the mistakes; `azp-fleet inventory check` lists them',
              ...configuration,
            }),
          ),
  },
  organization: {
    title: 'Azure DevOps',
    dependsOn: ['configuration'],
    check: ({ token: { answer, organization } }) => {
      if (answer === undefined) return unknown('no request without the token');
      const { problem } = answer;
      return problem === undefined || isRefusal(problem) ? ok(organization) : broken(brokenBy(problem));
    },
  },
  token: {
    title: 'token',
    dependsOn: ['configuration'],
    check: ({ token: { problem, expires, expiry, answer } }) => {
      if (problem !== undefined) return broken(brokenBy(problem));
      if (expiry?.code === 'inventory.token-expired') return broken(brokenBy(expiry));
      if (answer?.problem !== undefined)
        return isRefusal(answer.problem) ? broken(brokenBy(answer.problem)) : unknown(answer.problem.what);
      const end = expires === undefined ? 'its end is not in the inventory' : `ends ${expires}`;
      const result = ok(`accepted, ${end}`);
      if (expiry === undefined) return result;
      const { code, what, next = '' } = expiry;
      return { ...result, findings: [{ code, severity: 'warn', what, next }] };
    },
  },
  'token-scope': {
    title: 'token scope',
    dependsOn: ['token'],
    check: ({ token: { mayWrite } }) => {
      if (mayWrite === undefined) return unknown('not read');
      if (mayWrite.kind === 'unknown') return unknown(mayWrite.why);
      if (mayWrite.value === true) return ok('may write pools');
      if (mayWrite.value === undefined)
        return {
          state: 'skipped',
          why: 'not checked: Azure DevOps does not report whether it may write pools',
        };
      return broken({
        code: 'azure.permission',
        what: 'the token may not write pools, so it cannot register agents',
        expected: 'the scope "Agent Pools (Read & manage)"',
        next: 'give the token the scope "Agent Pools (Read & manage)", or put one that has it where "token:" of the inventory points',
      });
    },
  },
};

/** The rungs of this machine, in their order. */
const machineRungs: readonly Rung<MachineRung, MachineSeen>[] = Object.entries(checks).map(([id, rung]) => ({
  id: id as MachineRung,
  ...rung,
}));

export function climbMachine(seen: MachineSeen): readonly RungResult[] {
  return climb(machineRungs, seen);
}

/** Tells whether the organization answered, and rejected the token. */
function isRefusal({ code }: Problem): boolean {
  return code === 'azure.auth' || code === 'azure.permission';
}
