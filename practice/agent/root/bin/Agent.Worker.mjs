// Stand-in for Agent.Worker. Real: one process per job that continues when its listener dies, what it sends (timeline
// records, console, a log per step and one for the job, the end of the job), its folders, tasks that are fetched from the
// server and run by Node, the jobs' environment, secrets that are masked, a cancel by SIGINT, SIGTERM and SIGKILL, the
// score for the kernel's out-of-memory killer. Stand-in: conditions (all steps run until one fails), no checkout.
import { createInterface } from 'node:readline';
import { Connection } from './connection.mjs';
import { rememberAddresses } from './home.mjs';
import { JobRun } from './job-run.mjs';
import { Report } from './report.mjs';
import { openTrace } from './trace.mjs';
import { pause } from './waits.mjs';

process.title = 'Agent.Worker';
const trace = openTrace('Worker');
let run;
// SIGINT reaches the whole process group; the listener sends the next message.
for (const name of ['SIGINT', 'SIGQUIT'])
  process.on(name, () => {
    if (run !== undefined) run.interrupted = true;
  });
const results = ['succeeded', 'succeededWithIssues', 'failed', 'canceled'];
/** Of the plan: from this version on the end of the job is reported by an event. */
const eventVersion = 8;
const attempts = 5;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { body, settings, agentShuttingDown } = JSON.parse((await lines.next()).value);
trace(`Job ${body.jobId}: ${body.jobDisplayName}`);
await rememberAddresses('job', settings.speed);
const { url, authorization } = body.resources.endpoints.find(({ name }) => name === 'SystemVssConnection');
const server = new Connection(settings, {
  url,
  authorization: `Bearer ${authorization.parameters.AccessToken}`,
});
await server.connect();
await server.connect();
for (let asked = 0; asked < 6; asked += 1) await server.discover();
const report = new Report(server, body, settings);
run = new JobRun(server, body, settings, report);
void listenToListener();
const result = await run.finished();
trace(`Job ${body.jobId} ended: ${result}`, result === 'succeeded' ? 'INFO' : 'ERR');
process.exit(100 + results.indexOf(await end(result)));

/** Ignores the end of input: a worker whose listener exited continues. */
async function listenToListener() {
  for await (const line of lines) void run.cancel(JSON.parse(line).type);
}

/** Returns the result for the server: an unreported one is a failure. */
async function end(result) {
  await report.end(result);
  if (body.plan.version < eventVersion) return result;
  const event = { agentShuttingDown, result, name: 'JobCompleted', jobId: body.jobId };
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    try {
      await server.send('POST', `${report.plan}/events`, { body: event, version: '2.0-preview.1' });
      return result;
    } catch (error) {
      if (error.status !== undefined) break;
      await pause(5000, settings.speed);
    }
  }
  return 'failed';
}
