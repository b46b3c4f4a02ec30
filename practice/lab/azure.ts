import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { type FakeControl, fakeControl } from '../azure/control/control.ts';
import { clockVariable } from '../../src/shared/base/practice.ts';
import { type AgentPackage, packAgent } from '../agent/pack.ts';
import { withLock } from './lock.ts';
import { mirror, network, repository } from './paths.ts';
import { agentMirror, azureService, ensureService, stopService } from './services.ts';

const agentVersion = '5.279.0';

/** In a lab's folder: how fast its practice server's clock runs. */
const speedFile = 'azure.speed';

/** Returns the variables by which a CLI keeps time with a lab's practice server. */
export function practiceEnvironment(folder: string): Record<string, string> {
  const file = join(folder, speedFile);
  return existsSync(file) ? { [clockVariable]: readFileSync(file, 'utf8') } : {};
}

/** A practice Azure DevOps on the lab's network: a separate process that speaks HTTP. */
export interface LabAzure {
  /** `http://10.213.0.1:PORT/lab`, as an inventory names it. */
  readonly organization: string;
  /** How many times as fast as the real service's its slow rules run. */
  readonly speed: number;
  readonly tokenFile: string;
  readonly token: string;
  readonly control: FakeControl;
  /** The stand-in agent's tarball, and the URL under which the mirror has it. */
  readonly agent: { readonly version: string; readonly sha256: string; readonly mirror: string };
  stop(): Promise<void>;
}

/** Packs a version of the stand-in agent; the mirror has it beside the others. */
export const packedAgent = (version: string): Promise<AgentPackage> =>
  withLock('agent-package', () => packAgent(agentMirror, version));

/** Starts the practice server of a lab, or finds it running; its state is kept in the lab's folder. */
export async function startAzure(
  prefix: string,
  folder: string,
  {
    speed = 1,
    projects = ['vision'],
    publicUrl,
  }: {
    readonly speed?: number;
    readonly projects?: readonly string[];
    /** The name in its own answers. */
    readonly publicUrl?: string;
  } = {},
): Promise<LabAzure> {
  const tokenFile = join(folder, 'token');
  if (!existsSync(tokenFile))
    writeFileSync(tokenFile, `${randomBytes(26).toString('hex')}\n`, { mode: 0o600 });
  const port = await keptPort(join(folder, 'azure.port'));
  const name = azureService(prefix);
  const { folder: packed, sha256 } = await packedAgent(agentVersion);
  const settings = {
    '--listen': `${network.gateway}:${port}`,
    '--token-file': tokenFile,
    '--state-file': join(folder, 'azure.json'),
    ...(publicUrl === undefined ? {} : { '--public-url': publicUrl }),
  };
  await ensureService({
    name,
    command: process.execPath,
    args: [
      join(repository, 'practice/azure/main.ts'),
      ...Object.entries(settings).flat(),
      ...projects.flatMap((project) => ['--project', project]),
    ],
    port,
    env: { [clockVariable]: String(speed) },
  });
  writeFileSync(join(folder, speedFile), String(speed));
  return {
    organization: `http://${network.gateway}:${port}/lab`,
    speed,
    tokenFile,
    token: readFileSync(tokenFile, 'utf8').trim(),
    control: fakeControl(`http://${network.gateway}:${port}`),
    agent: { version: agentVersion, sha256, mirror: `${mirror}/${packed}` },
    stop: () => stopService(name),
  };
}

/** A free port, the same one each time, so that the hosts find a restarted server. */
async function keptPort(file: string): Promise<number> {
  if (existsSync(file)) return Number(readFileSync(file, 'utf8'));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer().on('error', reject);
  server.listen(0, network.gateway, () => {
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : 0);
  });
  const port = await promise;
  await new Promise((closed) => server.close(closed));
  writeFileSync(file, String(port));
  return port;
}
