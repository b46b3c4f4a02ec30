import { practiceFleet } from '../practice-fleet.ts';
import { ann, type Mistake } from './mistake.ts';
import type { World } from './world.ts';

/** Hosts with facts, that always say the same, in place of the one with real shells. */
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

/** What only the hosts themselves know. */
export const practiceMistakes: readonly Mistake[] = [
  {
    name: 'one machine by two addresses',
    make: withFacts,
    typed: 'plan',
    place: 'l40s-1 · facts',
    well: 3,
    by: ann(/^take one of the names out of the inventory/, 'takes twin out', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/  twin: .*\n/, '')),
    ),
  },
];
