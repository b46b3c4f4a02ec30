import type { ErrorCode } from '../src/base/codes/code.ts';

/** What is said with codes whose words and code stand in different places of the source; `…` differs from case to case. */
export const composedTexts: Partial<Record<ErrorCode, readonly string[]>> = {
  'setup.unsupported': ['… is not supported'],
  'usage.pool': [
    'a pipeline is for one pool',
    'the hosts are in several pools',
    'the pools are named after what each host has',
  ],
  'inventory.alias': ['… stands for nothing', '<< takes over keys, and here are none'],
  'inventory.key': ['… has a name that cannot be used'],
  'inventory.unknown-key': ['… is not a known key'],
  'inventory.value': ['… cannot be used as it is'],
  'azure.conflict': ['cannot …'],
  'azure.job-running': ['cannot …'],
  'azure.not-found': ['cannot …'],
  'azure.permission': ['cannot …'],
  'azure.refused': ['cannot …'],
  'azure.server-error': ['cannot …'],
  'azure.server-too-old': ['cannot …'],
  'engine.conflict': ['Docker failed while …'],
  'image.no-base': [
    'no CUDA base fits: …',
    'the driver does not say which CUDA it supports',
    'there is no agent for the architecture …',
  ],
  'control.bad-request': [
    'a run drains the whole host',
    'slots must be a list of names',
    'the query needs slot=NAME',
  ],
  'control.failed': [
    'the manager does not answer on …',
    'the manager answered … without a reason of its own',
  ],
  'dataset.writable-below': ['dataset …: what is mounted below it … is not read-only with it'],
  'dataset.unusable': [
    'dataset …: … is empty',
    'dataset …: … is not mounted',
    'dataset …: … does not answer',
  ],
  'agent.name-held': ['… to another installation', '… not registered by azp-fleet'],
  'agents.backing-off': ['backing-off'],
  'agents.held-by-run': ['whole host …'],
  'agents.idle': ['… is still starting'],
  'agents.older-job': ['on a job from before the last change: …'],
  'agents.quarantined': ['quarantined'],
  'agents.starting': ['… is still starting'],
  'agents.stopping': ['… is still being stopped'],
  'agents.waiting': ['waiting'],
  drained: ['drained by …'],
  'manager.failed': ['…'],
};
