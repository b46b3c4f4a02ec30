import { createAzureClient } from '../../../src/shared/azure/create-client.ts';
import { patCredential } from '../../../src/shared/azure/http/credential.ts';
import { agentFiles, generateAgentKey } from '../../../src/shared/azure/keys.ts';
import { silentLogger } from '../../../src/shared/base/log.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import { Secret } from '../../../src/shared/base/secret.ts';
import { AgentSession } from '../agent-session.ts';
import { practiceFleet } from '../practice-fleet.ts';
import { ann, type Mistake } from './mistake.ts';
import { token, type World } from './world.ts';

/** Replaces the host with real shells by hosts with fixed answers. */
async function withFacts(world: World): Promise<void> {
  const fleet = await practiceFleet(world.folder);
  world.onEnd(() => fleet.close());
  world.env['LOGIN'] = 'a-login-password';
  const [, second = ''] = fleet.hosts;
  const twin = second.replace('l40s-1:', 'twin:').replace('address: 127.0.0.1', 'address: localhost');
  const hosts = `hosts:\n  ${second}\n  ${twin}\n`;
  const text = world
    .read('inventory.yaml')
    .replace('identityFile: ~/.ssh/id_ed25519', 'loginPassword: { env: LOGIN }');
  world.write('inventory.yaml', text.replace(/groups:[^]*$/, hosts));
  await world.type('pool create --yes');
  await world.type('pool authorize --yes');
  await world.type('exec -- true');
}

/** Another installation's agent with this name is online in the pool. */
async function elsewhere(world: World, name: string): Promise<void> {
  const { organization } = world.azure;
  const client = createAzureClient({
    organization,
    credential: patCredential(new Secret(token)),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: systemClock(1),
  });
  const { pool } = await client.ensurePool('gpu-lab');
  const key = await generateAgentKey();
  const agent = await client.createAgent(pool.id, {
    name,
    version: '4.275.0',
    osDescription: 'Linux 6.1',
    systemCapabilities: {},
    publicKey: key.publicKey,
  });
  const files = agentFiles({ agent, key, pool, organization });
  await AgentSession.open(new Map(files.map((file) => [file.name, file.content])));
}

/** Mistakes that only the hosts and the server show. */
export const practiceMistakes: readonly Mistake[] = [
  {
    name: 'one machine by two addresses',
    make: withFacts,
    typed: 'plan',
    place: 'l40s-1 · facts',
    well: 3,
    by: ann(/^remove one of the names from the inventory/, 'takes twin out', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/  twin: .*\n/, '')),
    ),
  },
  {
    name: 'the name of an agent is taken by another one',
    make: async (world) => {
      await withFacts(world);
      await elsewhere(world, 'l40s-1-0');
    },
    typed: 'plan l40s-1',
    until: 'l40s-1: ',
    place: 'l40s-1 · manager',
    well: 3,
    by: ann(/or choose another agentName/, 'writes agentName: "b12-{host}-{slot}"', (world) =>
      world.edit('  user: ann\n', '  user: ann\n  agentName: "b12-{host}-{slot}"\n'),
    ),
  },
];
