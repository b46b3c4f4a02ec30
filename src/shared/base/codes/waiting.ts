/** Why a job waits, or failed at once: `azp-fleet doctor --job`. */
export const waitingCodes = {
  'waiting.agent-too-old': [
    'the job needs a newer agent program than agents of the pool have',
    'set agent.version in the inventory to the demanded version or a newer one, then run `azp-fleet provision`',
  ],
  'waiting.approval': ['the run waits for an approval', 'have an approver approve it on the page of the run'],
  'waiting.busy': [
    'agents that fit the job run other jobs',
    'wait for these jobs to end, or add agents or hosts to the pool',
  ],
  'waiting.check': [
    'the run waits for a check of a resource that it uses',
    'open the run in the browser: it names the check and the resource',
  ],
  'waiting.demand': [
    'no registered agent of the pool meets the demands of the job',
    'correct the demands in the pipeline, or add `capabilities:` in the inventory and run `azp-fleet provision`',
  ],
  'waiting.disabled': [
    'agents that fit the job were disabled in Azure DevOps',
    'enable them: Organization settings > Agent pools > the pool > Agents',
  ],
  'waiting.drained': [
    'agents that fit the job are drained',
    'run `azp-fleet undrain HOST --of NAME` when they may take jobs again',
  ],
  'waiting.no-agents': [
    'the pool has no agents',
    'run `azp-fleet provision`, or correct the pool in the pipeline',
  ],
  'waiting.no-queue': [
    'the project does not have the pool',
    'run `azp-fleet pool authorize POOL --project PROJECT`',
  ],
  'waiting.not-found': [
    'no job of this build is queued in a pool',
    'check the number of the build; its page shows whether it waits, runs or has ended',
  ],
  'waiting.not-permitted': [
    'the pipeline is not permitted to use the pool',
    'run `azp-fleet pool authorize POOL --project PROJECT`, or press Permit on the page of the run',
  ],
  'waiting.not-queued': [
    'no job of the run is queued for an agent yet',
    'open the run in the browser: an earlier stage runs, or its jobs use other agents',
  ],
  'waiting.not-taken': [
    'Azure DevOps sent the job to an agent that does not start it',
    'check the agent with `azp-fleet status`; Azure DevOps sends the job to another agent within about 15 minutes',
  ],
  'waiting.offline': [
    'agents that fit the job are offline',
    'run `azp-fleet status HOST`: it names the cause and the fix',
  ],
  'waiting.parallel-jobs': [
    'the organization runs as many jobs at once as it may',
    'buy self-hosted parallel jobs, or wait for other jobs to end: Organization settings > Parallel jobs',
  ],
  'waiting.pipeline-error': [
    'the pipeline has an error that stopped its run before the first job',
    'correct the pipeline as the message says',
  ],
  'waiting.quarantined': [
    'agents that fit the job are in quarantine: a GPU or a part of the host failed a check',
    'run `azp-fleet status HOST`: it names the cause and the fix',
  ],
  'waiting.starting': [
    'agents that fit the job are starting',
    'wait a minute; if it lasts, run `azp-fleet status HOST`',
  ],
  'waiting.unexplained': [
    'agents that fit the job are free, and Azure DevOps has not sent it to them',
    'wait a minute; then check https://status.dev.azure.com and the page of the job',
  ],
} as const;
