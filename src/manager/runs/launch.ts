import { agentNetwork, Labels } from '../../shared/contract/paths.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { tar } from '../../shared/base/tar.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { containerOptions, type LaunchOrder } from '../docker/container.ts';
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
    const { mode, name: slot, uid } = order.slot;
    const owner = { mode: 0o600, uid, gid: AgentLayout.gid };
    const root = mode === 'host' ? tools.host.engine.rootOf(slot) : AgentLayout.root;
    const site = siteFiles(tools.config, root, await tools.certificates());
    const archive = await tar(
      [...files, ...site].map(({ name, content }) => ({
        path: name,
        content: Buffer.from(content),
        ...owner,
      })),
    );
    await tools.engine.putArchive(id, AgentLayout.root, archive);
    if (mode === 'container') await admit(tools, order, id);
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

/** Makes the slot's uid the image's agent user. */
async function admit(
  { engine }: LaunchTools,
  { users, image, slot }: LaunchOrder,
  id: string,
): Promise<void> {
  const { files, folders } = jobUser(await users.of(engine, { image, container: id }), slot.uid);
  await engine.putArchive(id, '/', await tar(files, folders));
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
