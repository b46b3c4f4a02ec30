import { createServer, type Server, Agent } from 'node:http';
import { connect } from 'node:net';

import { HostConnection } from '../../../../src/fleet/apply/connection.ts';
import { readBootId, rebootScript, settle } from '../../../../src/fleet/apply/execute.ts';
import type { ApplyTools } from '../../../../src/fleet/apply/apply-tools.ts';
import type { Survey } from '../../../../src/fleet/apply/survey.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { planHost } from '../../../../src/fleet/plan/plan.ts';
import type { Session } from '../../../../src/fleet/ssh/transport.ts';
import type { Change } from '../../../../src/fleet/steps/change.ts';
import type { Desired, Step } from '../../../../src/fleet/steps/step.ts';
import { StillClock } from '../../../support/clock.ts';
import { merge } from '../../../support/host.ts';

/** A request over a connection that may change the host. */
export type Effect =
  | { readonly kind: 'durable'; readonly id: string; readonly script: string; readonly limitMs: number }
  | { readonly kind: 'script'; readonly text: string }
  | { readonly kind: 'upload'; readonly path: string; readonly mode: number; readonly sha256: string }
  | { readonly kind: 'reboot' }
  | { readonly kind: 'request'; readonly line: string };

/** The text of each secret. */
export const secrets = {
  credential: 'the credential',
  registries: 'the registries',
  webhook: 'the webhook',
} as const;

/**
 * A host that logs everything that apply sends to it. Its facts follow the successful changes, by `after`;
 * its manager answers with the status of its facts.
 */
export class RecordingHost {
  readonly effects: Effect[] = [];
  /** Changes that were begun. */
  readonly made: Change[] = [];
  readonly #steps: readonly Step[];
  readonly #desired: Desired;
  readonly #after: (facts: Facts, change: Change, desired: Desired) => Facts;
  readonly #changes = new Map<string, Change>();
  readonly #clock = new StillClock();
  #facts: Facts;
  /** The running change. */
  #open: Change | undefined;
  #boot = 1;
  #server: Server | undefined;

  constructor(
    steps: readonly Step[],
    facts: Facts,
    desired: Desired,
    after: (facts: Facts, change: Change, desired: Desired) => Facts,
  ) {
    this.#steps = steps;
    this.#facts = facts;
    this.#desired = desired;
    this.#after = after;
  }

  /** Serves the manager's socket from now on. */
  async survey(): Promise<Survey> {
    this.#server = createServer((request, response) => {
      const line = `${request.method} ${request.url}`;
      if (line !== 'GET /v1/status') this.effects.push({ kind: 'request', line });
      this.#mark(line);
      // The manager is ready for a wait.
      if (this.#open?.actions.some(({ kind }) => kind === 'await-manager') === true) this.#end(this.#open);
      response.end(JSON.stringify(this.#status()));
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
    const tools = this.tools();
    const { host } = this.#desired;
    const plan = tools.plan(this.#facts, host);
    return { host, facts: this.#facts, plan, connection: new HostConnection(host, tools) };
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  tools(): ApplyTools {
    return {
      transport: { connect: () => Promise.resolve(this.#session()), close: () => Promise.resolve() },
      gather: () => Promise.resolve(this.#facts),
      plan: (facts) => {
        const plan = planHost(facts, this.#desired, { steps: this.#steps, disturbOthers: false });
        for (const change of plan.stages.flat())
          if (change.kind === 'change') this.#changes.set(change.id, change);
        return plan;
      },
      owner: { who: 'ann@laptop', command: 'azp-fleet provision', since: '2026-11-21T00:00:00Z' },
      run: 'run-1',
      command: 'provision',
      emit: (event) => {
        if (event.kind === 'change-start') {
          this.#open = this.#changes.get(event.id);
          if (this.#open !== undefined) this.made.push(this.#open);
        }
        if (event.kind !== 'change-end' || this.#open === undefined) return;
        if (event.ok) this.#end(this.#open);
        this.#open = undefined;
      },
      log: silentLogger,
      signal: new AbortController().signal,
      clock: this.#clock,
      sleep: (ms) => {
        this.#clock.pass(ms);
        return Promise.resolve();
      },
      options: { parallel: 20, drainTimeoutMs: 60_000, breakLock: false },
      credential: new Secret(secrets.credential),
      registries: new Secret(secrets.registries),
      webhooks: new Map([[this.#desired.host.name, new Secret(secrets.webhook)]]),
    };
  }

  #status(): ManagerStatus | undefined {
    const { status } = this.#facts.manager;
    return status && { ...status, drains: status.drains ?? [] };
  }

  /** A run's drain replaces one that another run left. */
  #mark(line: string): void {
    const { status } = this.#facts.manager;
    if (status === undefined || line === 'GET /v1/status') return;
    const people = (status.drains ?? []).filter(({ run }) => run === undefined);
    const own = { reason: '', at: '', run: this.tools().run };
    const drains = line === 'POST /v1/drain' ? [...people, own] : people;
    this.#facts = merge(this.#facts, { manager: { status: { ...status, drains } } });
  }

  #end(change: Change): void {
    this.#facts = this.#after(this.#facts, change, this.#desired);
  }

  #script(text: string): string {
    if (text === readBootId) return `0000000${this.#boot}-0000-4000-8000-000000000000\n`;
    if (text === settle) return '';
    if (text === rebootScript) {
      this.#boot += 1;
      this.effects.push({ kind: 'reboot' });
    } else this.effects.push({ kind: 'script', text });
    return '';
  }

  #session(): Session {
    const closed = new AbortController();
    return {
      host: this.#desired.host.name,
      closed: closed.signal,
      script: (text) => Promise.resolve({ code: 0, stdout: this.#script(text), stderr: '', durationMs: 1 }),
      durable: ({ id, script, totalTimeoutMs: limitMs }) => {
        this.effects.push({ kind: 'durable', id, script, limitMs });
        return Promise.resolve({ code: 0, tail: '', resumed: false });
      },
      follow: () => Promise.resolve(undefined),
      upload: (source, path, { mode }) => {
        const digest = 'bytes' in source ? sha256(source.bytes) : source.sha256;
        this.effects.push({ kind: 'upload', path, mode, sha256: digest });
        return Promise.resolve(true);
      },
      socketAgent: (path) => {
        if (path !== HostPaths.socket) throw new Error(`no server for ${path}`);
        const agent = new Agent();
        const address = this.#server?.address();
        const port = typeof address === 'object' && address !== null ? address.port : 1;
        return Object.assign(agent, { createConnection: () => connect(port, '127.0.0.1') });
      },
      lock: () => Promise.resolve({ lost: () => false, release: () => Promise.resolve() }),
      close: () => {
        closed.abort();
        return Promise.resolve();
      },
    };
  }
}
