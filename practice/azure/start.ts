import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import type { Clock } from '../../src/shared/base/clock.ts';
import type { Fake } from './world/fake.ts';
import { advance } from './world/scheduler.ts';
import { createFakeServer } from './server.ts';
import { tellPolls } from './world/messages.ts';
import { loadState, saveState } from './world/saved-state.ts';
import { emptyState } from './world/new-organization.ts';

export interface FakeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** One accepted token per line; read again when it changes. */
  readonly tokenFile: string;
  /** Path of the organisation: `lab`, or `azdo/Engineering` below a virtual folder. */
  readonly organization: string;
  /**
   * The organisation's URL, as an administrator of Azure DevOps Server sets it: reported addresses begin with it, and
   * agents must sign for it. Without it the server uses the name that each caller used.
   */
  readonly publicUrl?: string;
  readonly projects: readonly string[];
  /** Its wall clock is the server's time; its speed scales the slow rules. */
  readonly clock: Clock;
  /** The state file, which keeps everything over a restart. */
  readonly stateFile?: string;
}

export interface RunningFake {
  readonly origin: string;
  /** `ORIGIN/ORGANIZATION`, for an inventory. */
  readonly organization: string;
  close(): Promise<void>;
}

/** Delay before a change is written to disk; longer for a large state. */
const saveEveryMs = 500;

/** Starts the fake server in this process. Its rules advance with each write and every half second (scaled). */
export async function startFake(options: FakeOptions): Promise<RunningFake> {
  const { stateFile, clock } = options;
  const now = (): number => clock.wall();
  let dirty = false;
  const fake: Fake = {
    state: (stateFile && loadState(stateFile, now())) || emptyState(options.projects, now()),
    organization: options.organization,
    publicUrl: options.publicUrl,
    clock,
    now,
    tokens: () => readFileSync(options.tokenFile, 'utf8').split(/\s+/u).filter(Boolean),
    tokenState: 'valid',
    bearers: new Map(),
    applications: [],
    machine: {},
    usedAssertions: new Set(),
    denied: new Set(),
    pipelines: new Map(),
    faults: [],
    settleMs: 0,
    ignoresDemands: false,
    hidesUnmatched: false,
    stale: new Map(),
    requestLog: [],
    polls: new Map(),
    changed: () => {
      dirty = true;
      advance(fake);
      tellPolls(fake);
    },
  };
  const server = createFakeServer(fake);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, options.host, () => resolve());
  });
  const save = () => {
    if (dirty && stateFile !== undefined) saveState(stateFile, fake.state);
    dirty = false;
  };
  const tick = () => {
    if (advance(fake)) fake.changed();
  };
  const ticking = setInterval(tick, Math.max(25, clock.scaled(500)));
  // Saving the state of a large fleet takes long: the server spends ten times as long on its callers.
  let saving: NodeJS.Timeout;
  const saveIn = (ms: number): void => {
    saving = setTimeout(() => {
      const from = clock.monotonic();
      save();
      saveIn(Math.max(saveEveryMs, 10 * (clock.monotonic() - from)));
    }, ms);
  };
  saveIn(saveEveryMs);
  const { port } = server.address() as AddressInfo;
  const origin = `http://${options.host}:${port}`;
  return {
    origin,
    organization: `${origin}/${encodeURI(options.organization)}`,
    close: async () => {
      clearInterval(ticking);
      clearTimeout(saving);
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
      save();
    },
  };
}
