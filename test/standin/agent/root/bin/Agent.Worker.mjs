// Stand-in for Agent.Worker. Real: one process per job, the work folder, the job's environment, the score for the
// kernel's out-of-memory killer (PIPELINE_JOB_OOMSCOREADJ, else 500; a failed write is ignored). Stand-in: the job is
// one bash script; its output goes to the server in one piece. Jobs with a container: container.mjs.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openContainer } from './container.mjs';

process.title = 'Agent.Worker';
const { workFolder, agentName, body } = JSON.parse(await text(process.stdin));
const directory = join(workFolder, '1');
// What a step has everywhere; on the host beside the agent's own environment.
const variables = {
  AGENT_NAME: agentName,
  AGENT_WORKFOLDER: workFolder,
  SYSTEM_JOBDISPLAYNAME: body.jobDisplayName,
  BUILD_BUILDID: String(body.requestId),
  TF_BUILD: 'True',
};
const onHost = (script) => {
  const job = spawn('bash', ['-c', script], {
    cwd: directory,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    writeFileSync(`/proc/${job.pid}/oom_score_adj`, process.env.PIPELINE_JOB_OOMSCOREADJ ?? '500');
  } catch {}
  return job;
};
const results = [];
let container;
try {
  container = await openContainer(body, { workFolder });
  for (const { inputs } of body.steps) {
    const job = container?.spawn(inputs.script, variables) ?? onHost(inputs.script);
    job.stdout.pipe(process.stdout, { end: false });
    job.stderr.pipe(process.stdout, { end: false });
    results.push(await new Promise((resolve) => job.on('close', (code) => resolve(code ?? 1))));
    if (results.at(-1) !== 0) break;
  }
} catch (error) {
  process.stdout.write(`##[error]${error.message}\n`);
  results.push(1);
} finally {
  await container?.close();
}
process.exitCode = results.at(-1) === 0 ? 0 : 1;
