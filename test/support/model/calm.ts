import { Capabilities, Labels } from '../../../src/shared/contract/paths.ts';
import { keyOf } from './judge.ts';
import type { Entry } from './server.ts';
import type { Place, World } from './world.ts';

/** Longer than any wait of the manager: the lock of a lost job (14 min), the longest back-off (10 min). */
const recoverMs = 25 * 60_000;
/** Maximum time between two checks. */
const mostPasses = 1_500;
const checkMs = 5_000;
/** Checks between two requests to the manager. */
const checksPerUndrain = 12;

/** How long it took every slot to serve again. */
export interface Recovery {
  readonly passes: number;
  readonly ms: number;
}

/** Ends all faults, and expects that every slot serves again by itself and nothing is left over. */
export async function calm(world: World): Promise<Recovery> {
  const { judge } = world;
  endTroubles(world);
  const { passes: before } = world;
  const { now: began } = world.timeline;
  await until(world, () => problems(world));
  const jobs = world.places().map(({ agent }) => world.server.queue(agent, 20_000));
  await until(world, () => [
    ...jobs.filter(({ result }) => result === undefined).map(({ agent }) => `no job ends on ${agent}`),
    ...problems(world),
  ]);
  const passes = world.passes - before;
  if (passes > mostPasses) judge.breach(`it took ${passes} checks to serve again`);
  return { passes, ms: world.timeline.now - began };
}

function endTroubles(world: World): void {
  const { boundary, server, dockerd, disk, judge, troubles, timeline } = world;
  boundary.faults.length = 0;
  boundary.scheduledActs.length = 0;
  Object.assign(troubles, { networkUntil: 0, hanging: 0, undelivered: 0, mute: 0 });
  server.settleMs = 0;
  server.pause.left = 0;
  dockerd.isUp = true;
  dockerd.deafUntil = 0;
  dockerd.lag = { ms: 0, until: 0 };
  dockerd.broken.clear();
  disk.isFull = false;
  world.isTight = false;
  for (const process of dockerd.lost) process.kill();
  dockerd.lost.clear();
  dockerd.slowRemovals.length = 0;
  // The manager removes what failed to be removed.
  for (const container of dockerd.containers.values()) dockerd.endRemoval(container);
  unpauseJobs(world);
  for (const entry of server.entries.filter(({ id }) => judge.foreign.has(id))) server.delete(entry);
  letWork(world);
  // The manager may write back what it has just read.
  timeline.after(60_000, () => letWork(world));
  for (const { process } of dockerd.containers.values()) process?.hurry();
  timeline.after(1_000, () => world.start());
}

/** A user unpauses jobs, as the status says; the manager replaces agents without a job. */
function unpauseJobs({ dockerd, server }: World): void {
  for (const container of dockerd.containers.values()) {
    const { agentId = 0, poolId = 0 } = container.process?.identity ?? {};
    const entry = server.byId(poolId, agentId);
    const mayHaveJob = container.process?.runsJob === true || (entry && server.assigned(entry)) !== undefined;
    if (mayHaveJob) dockerd.unpause(container);
  }
}

/** Undoes what people did to the agents; the manager undoes its own changes. */
function letWork(world: World): void {
  const { server, judge } = world;
  for (const entry of server.entries.slice()) {
    const { [Capabilities.owner]: owner, [Capabilities.drainReason]: reason } = entry.userCapabilities;
    entry.heldByPersonAt = undefined;
    if (owner === undefined && !isConfigured(world, entry)) server.delete(entry);
    else if (owner === undefined)
      entry.userCapabilities = { ...entry.userCapabilities, [Capabilities.owner]: judge.owner };
    if (!entry.enabled && reason === undefined) server.change(entry, () => (entry.enabled = true));
  }
}

function isConfigured(world: World, entry: Entry): boolean {
  return world.places().some(({ agent, poolId }) => keyOf({ poolId, name: agent }) === keyOf(entry));
}

/** Waits until there are no problems; any that remain after that time are breaches. */
async function until(world: World, wrong: () => readonly string[]): Promise<void> {
  const { timeline, judge } = world;
  const end = timeline.now + recoverMs;
  let checks = 0;
  judge.undrains();
  while (judge.violations.length === 0 && wrong().length > 0) {
    if (timeline.now > end) {
      for (const what of wrong()) judge.breach(`it does not serve again: ${what}`);
      return;
    }
    // No user drains any more; a request may get lost with the manager.
    if (checks % checksPerUndrain === 0) world.order('/v1/undrain', {}, () => undefined);
    checks += 1;
    await timeline.pass(checkMs, () => judge.violations.length > 0);
    unpauseJobs(world);
    for (const job of world.server.jobs) if (job.result === undefined) finishIfRunning(world, job.agent);
  }
}

/** Ends long jobs early. */
function finishIfRunning({ dockerd, timeline }: World, agent: string): void {
  for (const { process } of dockerd.containers.values())
    if (process?.identity?.name === agent && (process.job?.takesMs ?? 0) > 60_000 && timeline.now > 0)
      process.hurry();
}

function problems(world: World): readonly string[] {
  const { server, dockerd, judge } = world;
  const places = world.places();
  const own = [...dockerd.containers.values()].filter(({ labels }) => labels[Labels.owner] === judge.owner);
  return [
    ...places.flatMap((place) => problemOf(world, place)),
    ...(own.length > places.length ? [`${own.length} containers for ${places.length} slots`] : []),
    ...server.entries
      .filter((entry) => !judge.foreign.has(entry.id) && !isConfigured(world, entry))
      .map(({ name }) => `agent ${name} has no slot, and stays`),
  ];
}

function problemOf({ server, dockerd }: World, { slot, agent, poolId }: Place): readonly string[] {
  const entry = server.named(poolId, agent);
  const container = dockerd.named(agent);
  if (entry === undefined) return [`${agent}: not registered`];
  if (container === undefined) return [`${agent}: no container`];
  if (container.labels[Labels.slot] !== slot) return [`${agent}: its container belongs to another slot`];
  if (container.state === 'paused') return [`${agent}: its container is paused`];
  if (container.process?.listens !== true) return [`${agent}: its container does not listen`];
  if (container.process.identity?.agentId !== entry.id)
    return [`${agent}: its container belongs to another agent`];
  if (!entry.enabled) return [`${agent}: disabled`];
  if (entry.userCapabilities[Capabilities.drainReason] !== undefined)
    return [`${agent}: still has the reason for which it was disabled`];
  return [];
}
