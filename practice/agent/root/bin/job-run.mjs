// A job, from its first step to its last.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { machineName } from './capabilities.mjs';
import { openContainer } from './container.mjs';
import { killMarked, mark } from './processes.mjs';
import { root, version } from './settings.mjs';
import { Step } from './step.mjs';
import { taskOf } from './task.mjs';
import { environmentName, Variables } from './variables.mjs';

const words = {
  shutdown:
    'The agent has received a shutdown signal. This can happen when the agent service is stopped, or a manually started agent is canceled.',
  canceling: 'The Operation will be canceled. The next steps may not contain expected logs.',
  canceled: 'The operation was canceled.',
};
const rule = '='.repeat(78);

/** Runs the steps of a job without a container: on the agent's machine, with its environment. */
const onHost = {
  spawn: (file, args, { env, ...options }) =>
    spawn(file, args, { ...options, env: { ...process.env, ...env } }),
};

export class JobRun {
  #server;
  #body;
  #settings;
  #report;
  #variables;
  #step;
  #stepId;
  #canceled = false;
  /** The worker itself got a SIGINT, together with its steps. */
  interrupted = false;
  #order = 0;
  #lookup = `vsts_${randomUUID()}`;
  #folders;

  constructor(server, body, settings, report) {
    this.#server = server;
    this.#body = body;
    this.#settings = settings;
    this.#report = report;
    this.#variables = new Variables(body.variables);
    const work = settings.workFolder;
    this.#folders = {
      work,
      build: join(work, '1'),
      sources: join(work, '1', 's'),
      temp: join(work, '_temp'),
    };
    report.hide(this.#variables.secrets);
  }

  /** Returns `succeeded`, `failed` or `canceled`. */
  async finished() {
    let result = 'succeeded';
    let place = onHost;
    try {
      const tasks = await this.#inOwnStep('Initialize job', 'JobExtension_Init', (say, id) =>
        this.#prepare(say, id),
      );
      if (this.#body.jobContainer)
        place = await this.#inOwnStep('Initialize containers', 'InitializeContainers', (say) =>
          openContainer(this.#body, this.#settings, say),
        );
      for (const [index, step] of this.#body.steps.entries()) {
        if (result !== 'succeeded' || this.#canceled) break;
        result = await this.#runStep(step, tasks[index], place);
      }
    } catch {
      // The failed step has reported the cause.
      result = 'failed';
    }
    if (place.close !== undefined)
      await this.#inOwnStep('Stop Containers', 'StopContainers', (say) => place.close(say));
    await this.#inOwnStep('Finalize Job', 'JobExtension_Final', (say) => {
      say('Cleaning up task key');
      say('Start cleaning up orphan processes.');
      killMarked(this.#lookup);
    });
    return this.#canceled && result !== 'failed' ? 'canceled' : result;
  }

  /** `cancel`: the server canceled the job; `shutdown`: the listener stops. */
  async cancel(why) {
    if (this.#canceled) return;
    this.#canceled = true;
    if (why === 'shutdown') this.#report.issue(this.#body.jobId, 'error', words.shutdown);
    if (this.#step === undefined) return;
    this.#report.issue(this.#stepId, 'error', words.canceling);
    await this.#step.cancel();
  }

  async #inOwnStep(name, refName, work) {
    const id = randomUUID();
    this.#report.start(id, { type: 'Task', name, refName, order: (this.#order += 1) });
    const say = (line) => this.#report.line(id, line);
    try {
      const made = await work(say, id);
      this.#report.finish(id, 'succeeded');
      return made;
    } catch (error) {
      this.#report.issue(id, 'error', error.message);
      this.#report.finish(id, 'failed');
      throw error;
    }
  }

  /** Downloads the tasks of the steps. */
  async #prepare(say, id) {
    this.#report.introduce(id);
    say('Prepare build directory.');
    for (const folder of Object.values(this.#folders)) mkdirSync(folder, { recursive: true });
    say('Set build variables.');
    say('Download all required tasks.');
    const tasks = [];
    for (const step of this.#body.steps) tasks.push(await taskOf(step, this.#server, this.#folders.work));
    say('Checking job knob settings.');
    say('Finished checking job knob settings.');
    say('Start tracking orphan processes.');
    return tasks;
  }

  async #runStep(step, { definition, target }, place) {
    const { id, displayName, name } = step;
    this.#report.start(id, { type: 'Task', name: displayName, refName: name, order: (this.#order += 1) });
    const { friendlyName, description, author, helpMarkDown, version: of } = definition;
    const header = {
      'Task         ': friendlyName,
      'Description  ': description,
      'Version      ': `${of.major}.${of.minor}.${of.patch}`,
      'Author       ': author,
      'Help         ': helpMarkDown,
    };
    const lines = Object.entries(header).map(([label, value]) => `${label}: ${value}`);
    for (const line of [rule, ...lines, rule]) this.#report.line(id, line);
    this.#stepId = id;
    this.#step = new Step(place.spawn, {
      file: join(root, 'externals', 'node', 'bin', 'node'),
      args: [target],
      cwd: this.#folders.sources,
      env: this.#environment(step),
      speed: this.#settings.speed,
    });
    const result = await this.#step.run({
      line: (line) => this.#report.line(id, line),
      issue: (type, message) => this.#report.issue(id, type === 'warning' ? type : 'error', message),
      set: ({ variable, issecret }, value) => this.#set(variable, value, issecret === 'true'),
      wasInterrupted: () => this.interrupted,
    });
    this.#step = undefined;
    if (result === 'canceled') this.#report.issue(id, 'error', words.canceled, 'TaskInternal');
    this.#report.finish(id, result);
    return result;
  }

  #set(name, value, isSecret) {
    this.#variables.set(name, value, isSecret);
    this.#report.hide(this.#variables.secrets);
  }

  #environment({ inputs, environment }) {
    const expanded = (values, rename) =>
      Object.fromEntries(
        Object.entries(values ?? {}).map(([name, value]) => [rename(name), this.#variables.expand(value)]),
      );
    const { work, build, sources, temp } = this.#folders;
    return {
      ...this.#variables.environment(),
      AGENT_BUILDDIRECTORY: build,
      AGENT_HOMEDIRECTORY: root,
      AGENT_JOBNAME: this.#body.jobDisplayName,
      AGENT_MACHINENAME: machineName(),
      AGENT_NAME: this.#settings.agentName,
      AGENT_OS: 'Linux',
      AGENT_ROOTDIRECTORY: work,
      AGENT_TEMPDIRECTORY: temp,
      AGENT_VERSION: version(),
      AGENT_WORKFOLDER: work,
      BUILD_SOURCESDIRECTORY: sources,
      SYSTEM_DEFAULTWORKINGDIRECTORY: sources,
      TF_BUILD: 'True',
      [mark]: this.#lookup,
      ...expanded(inputs, (name) => `INPUT_${environmentName(name)}`),
      ...expanded(environment, (name) => name),
    };
  }
}
