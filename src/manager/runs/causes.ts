import type { Cause } from '../model.ts';
import type { Remark, RemarkKind } from './console.ts';

export const outputLost: Cause = {
  code: 'run.output-lost',
  what: 'Docker does not give out what the ended container has written, so that nobody knows how its job ended',
  next: 'look at the job in Azure DevOps, and at Docker on the host: journalctl -u docker',
};

/** What the manager says of each remark of an agent, and what is to be done. Its own words follow where they tell more. */
const remarkCauses: Readonly<Record<RemarkKind, Cause>> = {
  'session-conflict': {
    code: 'agent.session-conflict',
    what: 'the server still holds a session of this agent',
    next: 'wait 5 minutes for it to expire; if it comes back, look for another machine that runs an agent of this name',
  },
  'session-lost': {
    code: 'agent.session-lost',
    what: "the server ended the agent's session",
    next: 'wait for the new agent; if it happens again, look for cuts of the network that last longer than 5 minutes',
  },
  'agent-deleted': {
    code: 'agent.deleted',
    what: 'the agent was deleted in the pool',
    next: 'wait: it is registered again',
  },
  login: {
    code: 'agent.login-refused',
    what: 'Azure DevOps refuses the login of the agent',
    next: 'wait: it is registered again with a fresh key; if it stays, see whether somebody else registers agents of this name, and try registration: config',
  },
  clock: {
    code: 'agent.clock-skew',
    what: "this host's clock is more than five minutes off the server's, so that no login is accepted",
    next: 'set the clock and keep it set: timedatectl set-ntp true on the host',
  },
  network: {
    code: 'agent.cannot-connect',
    what: 'the agent cannot reach Azure DevOps',
    next: 'check network, name resolution, proxy and certificates as a container on this host sees them',
  },
  'not-configured': {
    code: 'agent.not-configured',
    what: 'the agent did not find its registration',
    next: 'use an image that was built by azp-fleet, or one with the same layout',
  },
  updating: {
    code: 'image.outdated',
    what: 'the server wants a newer agent than the image holds',
    next: 'turn autoUpdate of the pool off and raise the agent version of the inventory',
  },
  'sees-no-gpu': {
    code: 'gpu.lost-in-container',
    what: 'the container lost its GPU',
    next: 'wait for the new container; if it happens again, look at the health of the host',
  },
  aborted: {
    code: 'agent.aborted',
    what: 'the agent program gave up at its start',
    next: 'install what it names, in the image or, with mode: host, on the host',
  },
  failed: {
    code: 'agent.failed',
    what: 'the agent gave up',
    next: 'look at the log of the run, and at its own logs: azp-fleet logs HOST/SLOT --diag',
  },
};

/** Where the agent's own words tell which address, key or library it is about. */
const quoted: ReadonlySet<RemarkKind> = new Set([
  'login',
  'clock',
  'network',
  'aborted',
  'failed',
  'session-conflict',
]);

export function remarkCause({ kind, words }: Remark): Cause {
  const cause = remarkCauses[kind];
  return quoted.has(kind) && words !== '' ? { ...cause, what: `${cause.what}: ${words}` } : cause;
}

export const outdated = remarkCauses.updating;

export const deleted = remarkCauses['agent-deleted'];

export const outOfMemory: Cause = {
  code: 'run.out-of-memory',
  what: 'memory ran out: the kernel ended a process of the job',
  next: 'raise the memory limit of the slot, or let the job use less',
};

/** Other people's agents, other languages: what it does cannot be told from what it says. */
export function unreadable(words: string): Cause {
  return {
    code: 'agent.unreadable',
    what: `cannot read this agent's messages: ${words}`,
    next: 'use an image that was built by azp-fleet, or let the agent speak English: LC_ALL=C.UTF-8 in its environment',
  };
}
