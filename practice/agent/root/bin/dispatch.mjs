// A job in the listener: the lock of its request, its Agent.Worker process, messages to the worker, its result.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from './connection.mjs';
import { say, stamp } from './say.mjs';
import { root } from './settings.mjs';
import { between, pause } from './waits.mjs';

/** Always empty: the server knows the agent by its token. */
const noLock = '00000000-0000-0000-0000-000000000000';
const renewMs = 60_000;
/** How long a job continues after its lock has expired. */
const graceMs = 5 * 60_000;
const shutdownMs = 60_000;
const killAfterMs = 60_000;
const leavingMs = 500;
/** Plan version from which the worker reports the end of the job by an event. */
const eventVersion = 8;
const results = ['Succeeded', 'SucceededWithIssues', 'Failed', 'Canceled', 'Skipped', 'Abandoned'];
const lockLost = ['TaskAgentJobNotFoundException', 'TaskAgentJobTokenExpiredException'];

export class Dispatcher {
  #settings;
  #once;
  #stop;
  #job;
  #taken = false;
  #doneOnce;
  /** Resolves when the one job has ended. */
  onceDone = new Promise((resolve) => {
    this.#doneOnce = resolve;
  });

  constructor(settings, once, stop) {
    this.#settings = settings;
    this.#once = once;
    this.#stop = stop;
  }

  /** True once the agent has taken its only job. */
  get hasTaken() {
    return this.#once && this.#taken;
  }

  run(body) {
    this.#taken = true;
    const job = new Job(this.#settings, body, this.#once);
    this.#job = job;
    job.finished = job.run().finally(() => {
      if (this.#once) this.#doneOnce();
      if (this.#job === job) this.#job = undefined;
    });
  }

  /** Returns false if another job runs. */
  cancel({ jobId, timeout }) {
    if (this.#job?.id !== jobId) return false;
    this.#job.cancel('cancel', milliseconds(timeout));
    return true;
  }

  /** Settled when no job runs. */
  async idle() {
    await this.#job?.finished;
  }

  async shutdown() {
    this.#job?.cancel(this.#stop.aborted ? 'shutdown' : 'cancel', shutdownMs);
    await this.idle();
  }
}

class Job {
  #settings;
  #body;
  #once;
  #server;
  #worker;
  #ended = new AbortController();
  #asked;

  constructor(settings, body, once) {
    this.#settings = settings;
    this.#body = body;
    this.#once = once;
  }

  get id() {
    return this.#body.jobId;
  }

  async run() {
    const { jobDisplayName } = this.#body;
    say('running', stamp(), jobDisplayName);
    this.#server = new Connection(this.#settings);
    await this.#server.connect().catch(() => undefined);
    await this.#server.discover().catch(() => undefined);
    const until = await this.#firstRenewal();
    // Not even a worker, nor a word.
    if (until === undefined) return;
    for (let asked = 0; asked < 2; asked += 1)
      await new Connection(this.#settings).discover().catch(() => undefined);
    const lost = this.#renew(until);
    const code = this.#work();
    const first = await Promise.race([code, lost]);
    if (first === 'lost') this.cancel('cancel', shutdownMs);
    const own = results[(await code) - 100] ?? 'Failed';
    const result = first === 'lost' ? 'Abandoned' : this.#asked === undefined ? own : 'Canceled';
    say('completed', stamp(), jobDisplayName, result);
    this.#ended.abort();
    await this.#complete(result);
  }

  /** Tells the worker, which cancels the job; one that takes too long is killed. */
  cancel(why, timeoutMs) {
    if (this.#asked !== undefined) return;
    this.#asked = why;
    this.#tell({ type: why });
    void pause(timeoutMs + killAfterMs, this.#settings.speed, this.#ended.signal).then((late) => {
      if (late) this.#worker?.kill('SIGKILL');
    });
  }

  /** Returns the end of the lock, milliseconds since the epoch; undefined when it is not available. */
  async #firstRenewal() {
    for (let attempt = 0; attempt <= 5; attempt += 1) {
      try {
        return await this.#lock();
      } catch (error) {
        if (lockLost.includes(error.typeKey)) return undefined;
        await pause(between(1000, 10_000), this.#settings.speed, this.#ended.signal);
      }
    }
    return undefined;
  }

  /** `lost` when the job is no longer this agent's; never, while it is. */
  async #renew(first) {
    let until = first;
    let wait = renewMs;
    while (await pause(wait, this.#settings.speed, this.#ended.signal)) {
      try {
        until = await this.#lock();
        wait = renewMs;
      } catch (error) {
        if (lockLost.includes(error.typeKey)) {
          // With a fast clock renewals are as frequent as ends of jobs: whose worker is just leaving, is not lost.
          await pause(leavingMs, 1, this.#ended.signal);
          return 'lost';
        }
        if (Date.now() > until + graceMs / this.#settings.speed) return 'lost';
        wait = between(5000, 15_000);
      }
    }
    return new Promise(() => undefined);
  }

  async #lock() {
    const { requestId } = this.#body;
    const body = { requestId, data: {}, agentDelays: [] };
    const { lockedUntil } = await this.#server.send('PATCH', this.#request(), {
      body,
      signal: AbortSignal.timeout(60_000),
    });
    return Date.parse(lockedUntil);
  }

  #request() {
    return `/_apis/distributedtask/pools/${this.#settings.poolId}/jobrequests/${this.#body.requestId}?lockToken=${noLock}`;
  }

  /** In the listener's own process group, as the real one. Its exit code; when it was killed, none that means a result. */
  #work() {
    mkdirSync(this.#settings.workFolder, { recursive: true });
    return new Promise((resolve) => {
      this.#worker = spawn(join(root, 'bin', 'Agent.Worker'), ['spawnclient'], {
        stdio: ['pipe', 'ignore', 'inherit'],
        cwd: this.#settings.workFolder,
      });
      this.#worker.stdin.on('error', () => undefined);
      this.#worker.once('exit', (code) => resolve(code ?? 1));
      const { speed, workFolder, agentName } = this.#settings;
      const settings = { speed, workFolder, agentName };
      this.#tell({ type: 'job', body: this.#body, settings, agentShuttingDown: this.#once });
      if (this.#asked !== undefined) this.#tell({ type: this.#asked });
    });
  }

  #tell(message) {
    if (this.#worker?.stdin.writable) this.#worker.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #complete(result) {
    if (this.#body.plan.version >= eventVersion) return;
    const body = {
      requestId: this.#body.requestId,
      finishTime: new Date().toISOString(),
      result: result[0].toLowerCase() + result.slice(1),
    };
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const sent = await this.#server.send('PATCH', this.#request(), { body }).then(
        () => true,
        (error) => lockLost.includes(error.typeKey),
      );
      if (sent) return;
      await pause(5000, this.#settings.speed);
    }
  }
}

/** `00:05:00` */
function milliseconds(timeout = '00:01:00') {
  const [hours, minutes, seconds] = timeout.split(':').map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
