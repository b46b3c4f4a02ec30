// The worker's reports about its job: records of the timeline, lines for the console, a log per step and one
// for the whole job. Reports are sent one after another, so that they arrive in order.
import { osUser } from './processes.mjs';
import { machineName } from './capabilities.mjs';
import { blankRecord, newRecord, timestamp } from './records.mjs';
import { version } from './settings.mjs';
import { pause } from './waits.mjs';

const flushMs = 500;
const noTime = '0001-01-01T00:00:00';

export class Report {
  #server;
  #body;
  #agentName;
  #timeline;
  #records = new Map();
  #changes = new Map();
  /** The log lines of each record. */
  #logs = new Map();
  #feed = [];
  #secrets = [];
  #calls = Promise.resolve();
  #ended = new AbortController();
  #flushing;

  constructor(server, body, settings) {
    this.#server = server;
    this.#body = body;
    this.#agentName = settings.agentName;
    this.#timeline = `${this.plan}/timelines/${body.timeline.id}`;
    this.start(body.jobId, { type: 'Job', name: body.jobDisplayName, refName: body.jobName, parentId: null });
    this.#flushing = this.#flushNowAndThen(settings.speed);
  }

  get plan() {
    const { scopeIdentifier, planType, planId } = this.#body.plan;
    return `/${scopeIdentifier}/_apis/distributedtask/hubs/${planType}/plans/${planId}`;
  }

  /** Values that are masked in each line. */
  hide(values) {
    this.#secrets = [...new Set(values)].filter((value) => value !== '').sort((a, b) => b.length - a.length);
  }

  start(id, about) {
    this.#records.set(
      id,
      newRecord({ id, parentId: this.#body.jobId, workerName: this.#agentName, ...about }),
    );
    this.#logs.set(id, []);
    this.line(id, `##[section]Starting: ${about.name}`);
    this.#change(this.#records.get(id));
  }

  /** Adds one line of a step, or of the job itself. */
  line(id, text) {
    const line = this.#secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
    const number = this.#logs.get(id).push(`${timestamp()} ${line}`);
    if (id !== this.#body.jobId) this.#logs.get(this.#body.jobId).push(`${timestamp()} ${line}`);
    const last = this.#feed.at(-1);
    if (last?.stepId === id) last.value.push(line);
    else this.#feed.push({ value: [line], stepId: id, startLine: number });
  }

  /** Adds an `error` or `warning`. `source`: the reporter, if it is the worker itself. */
  issue(id, type, message, source) {
    this.line(id, `##[${type}]${message}`);
    const record = this.#records.get(id);
    record[`${type}Count`] += 1;
    const data = { ...(source && { source }), logFileLineNumber: String(this.#logs.get(id).length) };
    record.issues.push({ type, category: null, message, data });
    this.#change(record);
  }

  finish(id, result) {
    const record = this.#records.get(id);
    this.line(id, `##[section]Finishing: ${record.name}`);
    Object.assign(record, { state: 'completed', result, finishTime: timestamp(), percentComplete: 100 });
    this.#change(record);
    if (id !== this.#body.jobId) this.#upload(id);
  }

  /** Writes the worker's lines at the beginning. */
  introduce(id) {
    this.line(id, `Agent name: '${this.#agentName}'`);
    this.line(id, `Agent machine name: '${machineName()}'`);
    this.line(id, `Current agent version: '${version()}'`);
    this.line(id, `Agent running as: '${osUser()}'`);
  }

  async end(result) {
    this.#ended.abort();
    await this.#flushing;
    this.finish(this.#body.jobId, result);
    this.#sendFeed();
    this.#upload(this.#body.jobId);
    // After the uploads, because the records then know their logs.
    this.#call(() => this.#sendRecords());
    await this.#calls;
  }

  async #flushNowAndThen(speed) {
    while (await pause(flushMs, speed, this.#ended.signal)) {
      this.#call(() => this.#sendRecords());
      this.#sendFeed();
      await this.#calls;
    }
  }

  /** Failed reports are lost; only the end of the job is repeated, by the listener. */
  #call(work) {
    this.#calls = this.#calls.then(work).catch(() => undefined);
  }

  #change(record) {
    this.#changes.set(record.id, record);
  }

  async #sendRecords() {
    if (this.#changes.size === 0) return;
    const value = [...this.#changes.values()];
    this.#changes.clear();
    await this.#server.send('PATCH', `${this.#timeline}/records`, { body: { value, count: value.length } });
  }

  #sendFeed() {
    for (const part of this.#feed) {
      const body = { ...part, count: part.value.length };
      const path = `${this.#timeline}/records/${this.#body.jobId}/feed`;
      this.#call(() => this.#server.send('POST', path, { body }));
    }
    this.#feed = [];
  }

  #upload(id) {
    this.#call(async () => {
      const about = { path: `logs\\${id}`, createdOn: noTime, lastChangedOn: noTime, id: 0, location: null };
      const { id: log } = await this.#server.send('POST', `${this.plan}/logs`, { body: about });
      const text = `\uFEFF${this.#logs.get(id).join('\n')}\n`;
      await this.#server.send('POST', `${this.plan}/logs/${log}`, { text, type: 'application/octet-stream' });
      const record = this.#records.get(id);
      record.log = { id: log, location: null };
      if (!this.#changes.has(id)) this.#change({ ...blankRecord(id), log: record.log });
    });
  }
}
