import { agentNetwork, Labels } from '../../shared/contract/paths.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { tar } from '../../shared/base/tar.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { containerOptions, type LaunchOrder, type Registration } from '../docker/container.ts';
import { jobUser } from '../docker/job-user.ts';
import { siteFiles } from '../docker/agent-setup.ts';
import { createOnHost, type HostTools, requireFree } from '../host-mode/create.ts';
import { register, type RegisterTools } from '../registration/register.ts';
import type { Engine } from '../../shared/engine/engine.ts';

type LaunchTools = RegisterTools & HostTools;

/**
 * Starts a new container of a slot: registers its agent with a new key, copies the three files of the registration into the
 * container, and starts it. On any failure the container is removed.
 */
export async function launch(tools: LaunchTools, order: LaunchOrder): Promise<{ readonly agentId: number }> {
  // nvidia-smi is slow: it runs while the server and Docker answer; its result is checked before the start.
  void order.requireClean().catch(() => undefined);
  if (order.slot.mode === 'host') await requireFree(tools, order.slot);
  const { agentId, files } = await register(tools, order);
  order.key.given();
  const id = await create(tools, order, agentId);
  try {
    await copyFiles(tools, order, id, files);
    await order.requireClean();
    await tools.engine.start(id);
  } catch (error) {
    await removeUnstarted(tools.engine, id, order.run);
    // A restart of dockerd during a start leaves the endpoint, and later starts with this name fail.
    if (isEngineFault(error, 'engine.endpoint-left'))
      await tools.engine.freeEndpoint(agentNetwork, order.slot.agent);
    throw error;
  }
  return { agentId };
}

/**
 * Copies the agent's files, and in a container also those that make the slot's uid the image's agent user: in one call,
 * because Docker mounts the file system for each.
 */
async function copyFiles(
  { engine, host, config, certificates }: LaunchTools,
  { slot: { mode, name: slot, uid }, users, image }: LaunchOrder,
  id: string,
  files: Registration['files'],
): Promise<void> {
  const root = mode === 'host' ? host.engine.rootOf(slot) : AgentLayout.root;
  const entries = [...files, ...siteFiles(config, root, await certificates())].map(({ name, content }) => ({
    path: name,
    content: Buffer.from(content),
    mode: 0o600,
    uid,
    gid: AgentLayout.gid,
  }));
  if (mode === 'host') return engine.putArchive(id, AgentLayout.root, await tar(entries));
  const user = jobUser(await users.of(engine, { image, container: id }), uid);
  const own = entries.map((entry) => ({ ...entry, path: `${AgentLayout.root.slice(1)}/${entry.path}` }));
  await engine.putArchive(id, '/', await tar([...own, ...user.files], user.folders));
}

async function create(tools: LaunchTools, order: LaunchOrder, agentId: number): Promise<string> {
  if (order.slot.mode === 'host') return createOnHost(tools, order, agentId);
  const make = (): Promise<string> => {
    const options = containerOptions({ ...order, config: tools.config, agentId, poolId: order.pool.id });
    return tools.engine.create(order.slot.agent, options);
  };
  try {
    return await make();
  } catch (error) {
    if (!isEngineFault(error, 'engine.no-sizes') || order.sizes.unsupported !== undefined) throw error;
    // A job without a limit is better than none; the status shows it.
    order.sizes.refused(seenIn(error));
    tools.log.log('warn', 'limits.disk is not enforced', { why: order.sizes.unsupported });
    return make();
  }
}

function seenIn(error: unknown): string {
  const message = error instanceof FleetError ? (error.problem.seen ?? error.problem.what) : String(error);
  return message.replace(/^\(HTTP code \d+\) [\w ]+ - /, '').trim();
}

/**
 * Removes a container that could not be started. If Docker only answered too late, the container stays: a running one may
 * have a job, and an ended one is collected with its key and its record.
 */
export async function removeUnstarted(
  engine: Pick<Engine, 'listOwn' | 'removeUnlessRunning'>,
  id: string,
  run: string,
): Promise<void> {
  const found = await engine.listOwn({ [Labels.run]: run });
  if (found.some((container) => container.id === id && container.state === 'created'))
    await engine.removeUnlessRunning(id);
}
