import { createServer, type Server, Agent } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import type { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { withoutUnread } from '../../../../src/fleet/facts/unread.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { framed } from '../../../../src/fleet/facts/probe.ts';
import { changesProbe } from '../../../../src/fleet/facts/probes/changes.ts';
import { HostConnection } from '../../../../src/fleet/apply/connection.ts';
import type { FleetEvent } from '../../../../src/fleet/apply/events.ts';
import type { Survey } from '../../../../src/fleet/apply/survey.ts';
import { planOf } from '../../../../src/fleet/plan/plan.ts';
import type { ApplyTools } from '../../../../src/fleet/apply/apply-tools.ts';
import { connectionLost as lostDuring } from '../../../../src/fleet/ssh/failures.ts';
import { lockLost } from '../../../../src/fleet/ssh/session/lock.ts';
import type { DurableResult, Session } from '../../../../src/fleet/ssh/transport.ts';
import type { Change, Shape } from '../../../../src/fleet/steps/change.ts';
import { StillClock } from '../../../support/clock.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';

const connectionLost = lostDuring('h200-1', 'a change');

/**
 * A host behind a stand-in for the network, whose session logs requests. Its desired state is a list of
 * changes; one that has run is in `facts.packages` under its id, as a real step sees the result in the facts.
 */
export class FakeHost {
  static #made = 0;
  readonly log: string[] = [];
  /** Called with each line of the log. */
  onLog: (line: string) => void = () => undefined;
  readonly events: FleetEvent[] = [];
  readonly stop = new AbortController();
  facts: Facts = factsOf({ machineId: `machine-${(FakeHost.#made += 1)}` });
  pending: (Change | Shape)[];
  /** Called when a script runs; the default adds it to the facts. */
  onRun: (script: string) => Partial<DurableResult> | undefined = () => undefined;
  /** Output of a script that only reads. */
  onScript: (() => string) | undefined;
  status: ManagerStatus | undefined;
  /** Another user broke the lock, or it expired. */
  lockLost = false;
  /** Why its lock cannot be taken. */
  lockedBy: FleetError | undefined;
  /** New connections fail. */
  gone = false;
  /** Its manager answers with an error from now on. */
  refuses = false;
  readonly clock = new StillClock();
  #server: Server | undefined;
  #bootId = 1;
  #cut: () => void = () => undefined;
  /** Milliseconds that the wall clock jumps forward, then back, at each pause. */
  #jumpMs = 24 * 3_600_000;

  constructor(changes: (Change | Shape)[]) {
    this.pending = changes;
  }

  survey(tools: ApplyTools = this.tools()): Survey {
    const { host } = desiredOf();
    const plan = tools.plan(this.facts, host);
    return { host, facts: this.facts, plan, connection: new HostConnection(host, tools) };
  }

  tools(options: Partial<ApplyTools['options']> = {}): ApplyTools {
    return {
      transport: {
        connect: () => (this.gone ? Promise.reject(connectionLost) : Promise.resolve(this.#session())),
        close: () => Promise.resolve(),
      },
      gather: () => Promise.resolve(this.facts),
      plan: (facts, { name }) =>
        planOf(
          facts,
          name,
          this.pending.filter(
            (item) => item.kind === 'shape' || withoutUnread(facts).packages[item.id] === undefined,
          ),
          false,
        ),
      jobPages: () => Promise.resolve(new Map([['h200-1-0', 'https://dev.azure.com/x/_build?id=7']])),
      owner: { who: 'ann@laptop', command: 'azp-fleet provision', since: '2026-11-21T00:00:00Z' },
      run: 'run-1',
      command: 'provision',
      emit: (event) => this.events.push(event),
      log: silentLogger,
      signal: this.stop.signal,
      clock: this.clock,
      sleep: (ms) => {
        this.clock.pass(ms);
        // The wall clock jumps: no deadline may depend on it.
        this.clock.wallAhead += this.#jumpMs;
        this.#jumpMs *= -1;
        this.stop.signal.throwIfAborted();
        return Promise.resolve();
      },
      options: { parallel: 20, drainTimeoutMs: 60_000, breakLock: false, ...options },
    };
  }

  /** Serves the manager's socket with a status that `answer` may change at each call. */
  async serveManager(answer: (path: string, host: FakeHost) => void): Promise<void> {
    this.#server = createServer((request, response) => {
      const path = `${request.method} ${request.url}`;
      void text(request).then((body) => {
        if (path !== 'GET /v1/status') this.#note(`${path} ${body}`);
        if (!this.refuses) this.#mark(path, body);
        answer(path, this);
        if (this.refuses) response.statusCode = 500;
        response.end(JSON.stringify(this.status));
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** A run's drain replaces one that another run left; only the same run ends it. */
  #mark(path: string, body: string): void {
    const { drains } = this.status ?? {};
    if (drains === undefined || this.status === undefined || path === 'GET /v1/status') return;
    const { run, reason = '' } = JSON.parse(body) as { readonly run?: string; readonly reason?: string };
    if (run === undefined) return;
    const others = drains.filter((mark) =>
      path === 'POST /v1/drain' ? mark.run === undefined : mark.run !== run,
    );
    const own = path === 'POST /v1/drain' ? [{ reason, at: '2026-11-21T12:00:00Z', run }] : [];
    this.status = { ...this.status, drains: [...others, ...own] };
    this.facts = merge(this.facts, { manager: { status: this.status } });
  }

  #note(line: string): void {
    this.log.push(line);
    this.onLog(line);
  }

  #show(id: string): void {
    this.facts = merge(this.facts, { packages: { ...this.facts.packages, [id]: '1' } });
  }

  /** The connection is lost; with `gone`, permanently. */
  cut(): void {
    this.#cut();
  }

  #changes(): string {
    return this.facts.changes
      .map(
        ({ id, state, code = '', title, owner }) =>
          `${`state ${id} ${state} ${code}`.trim()}\ntitle ${title}\nowner ${owner}\n`,
      )
      .join('');
  }

  #boot(): string {
    return `0000000${this.#bootId}-0000-4000-8000-000000000000`;
  }

  /** Starts a change that runs as a unit without a run. */
  begin(id: string): void {
    this.#keep(id, 'running', undefined);
  }

  /** Ends a unit. */
  end(id: string, code: number): void {
    this.#keep(id, 'done', code);
  }

  #keep(id: string, state: 'running' | 'done', code: number | undefined): void {
    const others = this.facts.changes.filter((each) => each.id !== id);
    const kept = { id, title: `do ${id}`, owner: 'ann@laptop', state, code };
    this.facts = { ...this.facts, changes: [...others, kept] };
  }

  #follow(id: string): DurableResult | undefined {
    if (!this.facts.changes.some((each) => each.id === id && each.state === 'running')) return undefined;
    this.#note(`follow ${id}`);
    const result = {
      code: 0,
      tail: '',
      resumed: true,
      startedBy: 'ann@laptop',
      ...this.onRun(`follow ${id}`),
    };
    this.end(id, result.code);
    if (result.code === 0) this.#show(id);
    return result;
  }

  #session(): Session {
    const closed = new AbortController();
    this.#cut = () => closed.abort();
    const run = (script: string): DurableResult => {
      this.#note(script);
      const result = { code: 0, tail: '', resumed: false, ...this.onRun(script) };
      if (result.code === 0) this.#show(script);
      return result;
    };
    return {
      host: 'h200-1',
      closed: closed.signal,
      script: (text) => {
        if (closed.signal.aborted) return Promise.reject(connectionLost);
        if (this.lockLost) return Promise.reject(lockLost('h200-1'));
        if (text === framed(changesProbe, { root: machineRoot }).script)
          return Promise.resolve(result(`${this.#changes()}\nend\n`));
        if (text.includes('boot_id')) return Promise.resolve(result(`${this.#boot()}\n`));
        if (this.onScript !== undefined && text === 'set -eu\nask') {
          const answer = this.onScript;
          return Promise.resolve().then(() => result(answer()));
        }
        if (text.includes('systemctl reboot')) {
          this.#note('reboot');
          this.#bootId += 1;
          this.facts = merge(this.facts, { bootId: this.#boot() });
          this.#show('reboot');
          return Promise.resolve(result(''));
        }
        const { code, tail } = run(text.replace('set -eu\n', ''));
        return Promise.resolve({ ...result(tail), code });
      },
      durable: (spec) => Promise.resolve(run(spec.script)),
      follow: (id) => Promise.resolve().then(() => this.#follow(id)),
      upload: (_source, _path, { onTurn }) => {
        onTurn?.(150_000);
        return Promise.resolve(true);
      },
      socketAgent: () => {
        const agent = new Agent();
        const address = this.#server?.address();
        const port = typeof address === 'object' && address !== null ? address.port : 1;
        return Object.assign(agent, { createConnection: () => connect(port, '127.0.0.1') });
      },
      lock: () => {
        if (this.lockedBy !== undefined) return Promise.reject(this.lockedBy);
        this.#note('lock');
        return Promise.resolve({
          key: 'SHA256:abc',
          lost: () => this.lockLost,
          release: () => {
            this.#note('unlock');
            return Promise.resolve();
          },
        });
      },
      close: () => {
        closed.abort();
        return Promise.resolve();
      },
    };
  }
}

function result(stdout: string) {
  return { code: 0, stdout, stderr: '', durationMs: 1 };
}
