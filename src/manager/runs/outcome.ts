import type { ContainerExit } from '../../engine/engine.ts';
import type { Cause } from '../model.ts';
import type { Remark, Transcript } from './transcript.ts';

/** How a run ended. */
export interface Outcome {
  /** A job was taken: the slot works. */
  readonly ranJob: boolean;
  readonly job?: string;
  readonly result?: string;
  /** Why it ended without having done its work; undefined when all is well. */
  readonly cause?: Cause;
}

export const remarkCauses: Readonly<Record<Remark, Cause>> = {
  'session-conflict': {
    code: 'agent.session-conflict',
    what: 'the server still holds a session of this agent',
    next: 'wait 5 minutes for it to expire; if it comes back, look for another machine that runs an agent of this name',
  },
  'agent-deleted': {
    code: 'agent.deleted',
    what: 'the agent was deleted in the pool',
    next: 'wait: it is registered again',
  },
  'cannot-connect': {
    code: 'agent.cannot-connect',
    what: 'the agent cannot reach Azure DevOps from its container',
    next: 'check the network, name resolution and proxy of containers on this host',
  },
  updating: {
    code: 'image.outdated',
    what: 'the server wants a newer agent than the image holds',
    next: 'turn autoUpdate of the pool off and raise the agent version of the inventory',
  },
  'not-configured': {
    code: 'agent.not-configured',
    what: 'the agent did not find its registration',
    next: 'use an image that was built by azp-fleet, or one with the same layout',
  },
  'sees-no-gpu': {
    code: 'gpu.lost-in-container',
    what: 'the container lost its GPU',
    next: 'wait for the new container; if it happens again, look at the health of the host',
  },
};

const outOfMemory: Cause = {
  code: 'run.out-of-memory',
  what: 'memory ran out: the kernel ended a process of the job',
  next: 'raise the memory limit of the slot, or let the job use less',
};

/** Judges one ended run from its exit and its output. `asked`: this manager had stopped it. */
export function judge(exit: ContainerExit, transcript: Transcript, asked: boolean): Outcome {
  const ranJob = transcript.job !== undefined;
  const job = {
    ...(transcript.job === undefined ? {} : { job: transcript.job }),
    ...(transcript.result === undefined ? {} : { result: transcript.result }),
  };
  const cause = asked ? undefined : causeOf(exit, transcript);
  return { ranJob, ...job, ...(cause === undefined ? {} : { cause }) };
}

function causeOf(exit: ContainerExit, transcript: Transcript): Cause | undefined {
  if (transcript.phase === 'done') {
    // The kernel takes the job before its agent, which then reports a failure like any other.
    return exit.oomKilled && transcript.result === 'failed' ? outOfMemory : undefined;
  }
  if (exit.oomKilled) return outOfMemory;
  if (exit.code === 3 || exit.code === 4) return remarkCauses.updating;
  const last = transcript.remarks.at(-1);
  if (last !== undefined) return remarkCauses[last];
  if (transcript.phase === 'running') {
    return {
      code: 'run.cut',
      what: `the agent ended in the middle of a job (exit code ${exit.code})`,
      next: 'look at the log of the run; a killed agent is reported lost by the server after about 15 minutes',
    };
  }
  if (exit.code === 0) {
    return {
      code: 'run.no-job',
      what: 'the agent ended without taking a job',
      next: 'look at the log of the run',
    };
  }
  return {
    code: 'run.failed',
    what: `the agent ended with exit code ${exit.code} before it listened for jobs`,
    next: 'look at the log of the run',
  };
}
