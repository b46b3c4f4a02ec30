// One job: its lock, its Agent.Worker process, its result.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './settings.mjs';

const renewMs = 60_000;
/** How long a cancelled job has until its worker is killed. */
const cancelMs = 60_000;

export function runJob({ server, settings, body, once, stop }) {
  const lock = `/_apis/distributedtask/pools/${settings.poolId}/jobrequests/${body.requestId}?lockToken=${body.lockToken}`;
  const plan = `/${body.plan.scopeIdentifier}/_apis/distributedtask/hubs/build/plans/${body.plan.planId}`;
  const cancelled = new AbortController();
  const cancel = () => cancelled.abort();
  stop.addEventListener('abort', cancel, { once: true });
  if (stop.aborted) cancel();

  const renew = () => server.send('PATCH', lock, { body: {} });
  const work = async () => {
    try {
      await renew();
    } catch {
      return 'Abandoned';
    }
    const timer = setInterval(() => renew().catch(cancel), renewMs / settings.speed);
    try {
      const { code, output } = await worker(settings, body, cancelled.signal);
      const result = cancelled.signal.aborted ? 'canceled' : code === 0 ? 'succeeded' : 'failed';
      await server.send('POST', `${plan}/logs/1`, { text: output }).catch(() => undefined);
      const event = { name: 'JobCompleted', jobId: body.jobId, requestId: body.requestId, result };
      await server.send('POST', `${plan}/events`, { body: { ...event, agentShuttingDown: once } });
      return result[0].toUpperCase() + result.slice(1);
    } catch (error) {
      return `Failed (${error.message})`;
    } finally {
      clearInterval(timer);
    }
  };
  return { finished: work(), cancel };
}

/** The job's script, given to a process named Agent.Worker by stdin. */
function worker(settings, body, signal) {
  mkdirSync(join(settings.workFolder, '1'), { recursive: true });
  return new Promise((resolve) => {
    const child = spawn(join(root, 'bin', 'Agent.Worker'), ['spawnclient'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: settings.workFolder,
      detached: true,
    });
    let output = '';
    let killer;
    child.stdout.on('data', (data) => {
      output += data;
    });
    const end = (how) => child.pid !== undefined && process.kill(-child.pid, how);
    const cancel = () => {
      end('SIGTERM');
      killer = setTimeout(() => end('SIGKILL'), cancelMs / settings.speed);
    };
    signal.addEventListener('abort', cancel, { once: true });
    child.on('close', (code) => {
      clearTimeout(killer);
      signal.removeEventListener('abort', cancel);
      resolve({ code, output });
    });
    child.stdin.end(JSON.stringify({ workFolder: settings.workFolder, agentName: settings.agentName, body }));
    if (signal.aborted) cancel();
  });
}
