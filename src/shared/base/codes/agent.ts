import { dockerFaults, driverFaults, managerFaults } from './entry.ts';

/** Agents, their runs and slots: causes in the status, and of runs in `azp-fleet logs`. */
export const agentCodes = {
  'agent.aborted': ['the agent program aborted at its start', 'install what its message names'],
  'agent.away': ['the agent is not running', 'check `azp-fleet status`'],
  'agent.cannot-connect': [
    'the agent cannot reach Azure DevOps',
    'check DNS, proxy and firewall from inside a container',
  ],
  'agent.clock-skew': ['the clock of the host is wrong', 'run `timedatectl set-ntp true` on the host'],
  'agent.deleted': ['the agent was deleted in the pool', 'retried automatically: it registers again'],
  'agent.failed': ['the agent exited with an error', 'check its logs with `azp-fleet logs HOST/SLOT --diag`'],
  'agent.job-assigned': [
    'Azure DevOps still counts a job as running on the agent',
    'wait until the time in the message; canceling the job ends it no sooner if its agent has ended',
  ],
  'agent.killed': ['another process ended the agent', 'check the log of the run and the journal of the host'],
  'agent.login-refused': [
    'Azure DevOps rejected the login of the agent',
    'retried automatically with a new key',
  ],
  'agent.name-held': [
    'agent name already in use by another installation',
    'run `azp-fleet adopt HOST`, or set another agentName',
    { kind: 'permanent' },
  ],
  'agent.no-digest': [
    'the agent is downloaded over plain http, and no digest is configured',
    'set agent.sha256, or use https',
    { kind: 'permanent' },
  ],
  'agent.not-configured': [
    'the agent has no registration',
    'use an image built by azp-fleet',
    { kind: 'permanent' },
  ],
  'agent.other-archive': [
    'the digest of the agent archive differs from the expected one',
    'find out why it changed; then set agent.sha256',
    { kind: 'permanent' },
  ],
  'agent.session-conflict': [
    'Azure DevOps still holds a session of the agent',
    'wait 5 minutes',
    { kind: 'conflict' },
  ],
  'agent.session-left': [
    'the last agent left its session open',
    'wait until the time in the message',
    { kind: 'conflict' },
  ],
  'agent.session-lost': [
    'Azure DevOps ended the session of the agent',
    'check the network for interruptions',
  ],
  'agent.silent': [
    'the agent started and does not listen for jobs',
    'check its logs and the load of the host',
  ],
  'agent.still-enabled': [
    'the pool may still assign jobs to an agent that is to be stopped',
    'retried automatically',
  ],
  'agent.stopped': ['the agent was stopped while it waited for a job', 'wait for the new agent'],
  'agent.too-long': [
    'the agent has more capabilities in the pool than the manager reads; a job can publish them with its agent’s key',
    'check the jobs of the slot; delete the agent in the pool if it stays',
  ],
  'agent.unreadable': [
    'the messages of the agent are in a language that azp-fleet does not read',
    'use our image, or set LC_ALL=C.UTF-8',
    { kind: 'permanent' },
  ],
  'agents.backing-off': [
    'the agent failed and starts again after a pause',
    'fix the cause that is shown with it',
    { title: 'Agent fails', dependsOn: [...dockerFaults, ...managerFaults] },
  ],
  'agents.held-by-run': [
    'a run holds the drain, or was interrupted while it did',
    'run `azp-fleet undrain HOST` when that run has ended',
    { title: 'Drained by a run', severity: 'warn' },
  ],
  'agents.left-drained': [
    'drained by an interrupted provision, reboot or remove',
    'run the same command on the host again: it enables the agents; or run `azp-fleet undrain HOST`',
    { title: 'Drained by an interrupted run', severity: 'warn' },
  ],
  'agents.idle': [
    'the agent started and is not listening yet',
    'check `journalctl -u azp-fleet-manager`',
    { title: 'Agent does not listen yet', dependsOn: [...dockerFaults, ...managerFaults] },
  ],
  'agents.older-job': [
    'a job from before the last change still runs',
    'no action needed: their next agents use the current configuration',
    { title: 'Job from before the change', severity: 'info' },
  ],
  'agents.outdated': [
    'the agent was made before the last change',
    'wait: the manager replaces it when it has no job',
    { title: 'Agent is outdated', dependsOn: [...dockerFaults, ...managerFaults] },
  ],
  'agents.replaced': [
    'the pool has a different agent under this name',
    'find out who registers agents with this name',
    { title: 'Agent was replaced' },
  ],
  'agents.stopping': [
    'the agent is still draining',
    'check `journalctl -u azp-fleet-manager`',
    { title: 'Agent does not stop', dependsOn: [...dockerFaults, ...managerFaults] },
  ],
  'agents.taken': [
    'the agent name in the pool belongs to another installation',
    'set another agentName for one of them, or run `azp-fleet adopt HOST`',
    { title: 'Agent name is taken' },
  ],
  'agents.untold': [
    'the manager is too old to report what its agents were made from',
    'run `azp-fleet provision`, which updates the manager to the version of this program',
    { title: 'Agents are not reported', severity: 'warn' },
  ],
  'agents.disabled': [
    'the agent is disabled in the pool',
    'enable it in Azure DevOps',
    { title: 'Agent is disabled', severity: 'warn' },
  ],
  'agents.offline': [
    'the agent runs on the host and is offline in the pool',
    'check its log and the network',
    { title: 'Agent is offline', dependsOn: [...dockerFaults, 'azure.no-connection'] },
  ],
  'agents.quarantined': [
    'the slot accepts no jobs because of its GPU',
    'fix the GPU as the finding says',
    { title: 'Slot is quarantined', dependsOn: [...driverFaults, 'docker.down'] },
  ],
  'agents.starting': [
    'the agent has been starting for minutes',
    'check `journalctl -u azp-fleet-manager`',
    { title: 'Agent does not start', dependsOn: [...dockerFaults, ...managerFaults] },
  ],
  'agents.waiting': [
    'the slot waits; the status shows what for',
    'fix the cause that is shown with it',
    { title: 'Slot waits', dependsOn: [...dockerFaults, ...managerFaults] },
  ],
  'container.gone': ['a container no longer exists', 'retried automatically', { kind: 'startup' }],
  'container.no-pool': [
    'a container that the manager created has no configured slot, and its agent is in no known pool',
    'run `docker stop NAME` on the host when no job runs in it',
    { title: 'Container without a pool', severity: 'warn' },
  ],
  'container.stuck': [
    'a container has been paused, or its removal has not ended, for 2 minutes',
    'run `docker unpause NAME` on the host, or `systemctl restart docker` if a removal hangs',
    { title: 'Container hangs', severity: 'warn' },
  ],
  drained: [
    'the host or slot is drained',
    'run `azp-fleet undrain HOST --of NAME` when it may take jobs again',
  ],
  'gpu.in-use': [
    'another process uses a GPU of the slot',
    'wait until it exits, or stop it; the slot then accepts jobs again',
  ],
  'gpu.left-behind': [
    'a process that an ended job left on a GPU was killed and does not exit',
    'drain and reboot the host if the process is in state D',
  ],
  'gpu.memory-held': [
    'GPU memory is in use, and no visible process holds it',
    'find the process that has the device open; otherwise reset the GPU or reboot',
  ],
  'gpu.tenants-unknown': [
    'nvidia-smi does not list the processes on the GPUs',
    'run `nvidia-smi --query-compute-apps=pid --format=csv` on the host',
  ],
  'gpu.lost-in-container': [
    'a container lost access to its GPU',
    'wait for the new container; check the health of the host',
  ],
  'health.old': [
    'the last check of the GPUs is too old',
    'check that nvidia-smi answers on the host, or check now with --probe',
    { title: 'GPU check is old', dependsOn: [...managerFaults, 'smi.hung'] },
  ],
  'health.unknown': ['the GPUs have not been checked yet', 'wait 20 s', { kind: 'startup' }],
  'host-mode.failed': ['a program on the host failed', 'check `journalctl -u azp-fleet-manager`'],
  'host-mode.folder-closed': [
    'agents cannot list a folder above their own (mode 0700)',
    'run `chmod o+rx` on the folder that is named',
    { kind: 'permanent' },
  ],
  'host-mode.folder-stays': [
    'files that a job left cannot be removed',
    'check mounts and file attributes in the folder that is named',
  ],
  'host-mode.libraries': [
    'the host lacks libraries that the agent needs',
    'run `azp-fleet provision`',
    { kind: 'permanent' },
  ],
  'host-mode.no-agent': [
    'the agent cannot be downloaded or unpacked',
    'check agent.version, proxy and mirrors.agent',
  ],
  'host-mode.no-user': [
    'the user for agents cannot be created',
    'create it with `useradd` on the host',
    { kind: 'permanent' },
  ],
  'host-mode.unit-runs': [
    'a systemd unit of the slot runs an agent that the manager does not know',
    'wait until its job ends, or stop the unit with `systemctl stop`',
  ],
  'host-mode.user-alive': [
    'a process left by the job does not exit',
    'drain and reboot the host if the process is in state D',
  ],
  'queue.long-wait': [
    'a job waited long for an agent',
    'check `azp-fleet status`; add agents if all are healthy',
  ],
  'run.abandoned': ['Azure DevOps abandoned the job while it ran', 'check the network for interruptions'],
  'run.cut': ['the agent exited in the middle of a job', 'check the log of the run'],
  'run.does-not-end': [
    'the job has ended, and a process of its run still runs',
    'wait: the manager stops it; if it is in state D, drain and reboot the host',
  ],
  'run.failed': ['the agent exited with the exit code that is shown', 'check the log of the run'],
  'run.out-of-memory': [
    'the job exceeded its memory limit, or the host ran out of memory',
    'raise limits.memory of the slot, or let the job use less',
  ],
  'run.output-lost': [
    'Docker does not return the output of the run',
    'check `journalctl -u docker` on the host',
  ],
  'run.result-missing': [
    'the agent has ended, and Azure DevOps still shows its job as running',
    'run the job again after the time in the message; canceling it ends it no sooner',
  ],
  'run.result-undelivered': [
    'the result of the job did not reach Azure DevOps',
    'fix the network path to Azure DevOps, and run the job again',
  ],
  'run.withdrawn': ['Azure DevOps withdrew the job before it began', 'check the job in Azure DevOps'],
  'runs.unknown': [
    'no run with this ID is running or recorded on the host',
    'list the runs: `azp-fleet logs HOST`',
  ],
  'runs.no-diagnostics': [
    'the agent left no diagnostic logs of this run',
    'list the runs that have some: `azp-fleet logs HOST/SLOT --runs`',
  ],
  'agents.none': [
    'the manager has no slots, so no agent takes jobs',
    'check its GPUs with `azp-fleet status --probe`, or list `agents:` in the inventory',
    { title: 'No slots', dependsOn: [...driverFaults, 'gpu.none-found'] },
  ],
  'slot.container-exists': [
    'a container of the slot still exists',
    'wait: the manager removes it first',
    { kind: 'startup' },
  ],
  'slot.gone': [
    'the slot is no longer configured',
    'wait: the manager reads its slots again',
    { kind: 'startup' },
  ],
  'gpu.unknown': ['the host has no such GPU', 'use one of the addresses that are listed'],
  'slot.unknown': ['the host has no such slot', 'use one of the slots that are listed'],
} as const;
