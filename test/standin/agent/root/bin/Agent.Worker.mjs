// Stand-in for Agent.Worker. Real: one process per job, the work folder, the job's environment, the score for the
// kernel's out-of-memory killer (PIPELINE_JOB_OOMSCOREADJ, else 500; a failed write is ignored). Stand-in: the job is
// one bash script; its output goes to the server in one piece.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

process.title = 'Agent.Worker';
const { workFolder, agentName, body } = JSON.parse(await text(process.stdin));
const directory = join(workFolder, '1');
const environment = {
  ...process.env,
  AGENT_NAME: agentName,
  AGENT_WORKFOLDER: workFolder,
  SYSTEM_JOBDISPLAYNAME: body.jobDisplayName,
  BUILD_BUILDID: String(body.requestId),
  TF_BUILD: 'True',
};
const results = [];
for (const step of body.steps) {
  const job = spawn('bash', ['-c', step.inputs.script], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  job.stdout.pipe(process.stdout, { end: false });
  job.stderr.pipe(process.stdout, { end: false });
  try {
    writeFileSync(`/proc/${job.pid}/oom_score_adj`, process.env.PIPELINE_JOB_OOMSCOREADJ ?? '500');
  } catch {}
  results.push(await new Promise((resolve) => job.on('close', (code) => resolve(code ?? 1))));
  if (results.at(-1) !== 0) break;
}
process.exitCode = results.at(-1) === 0 ? 0 : 1;
