// The hosts of bench/provision.ts: `fork`ed with their number. Sends where the inventory is; at each message loses the
// configuration of dockerd on all hosts, and answers.
import { ScriptedFleet } from '../test/support/scripted-fleet/fleet.ts';

/** What a command needs to reach them. */
export interface Place {
  readonly folder: string;
  readonly inventory: string;
  readonly env: Readonly<Record<string, string>>;
}

const fleet = await ScriptedFleet.start(Number(process.argv[2]));
const { folder, inventory, env } = fleet;
process.on('message', () => {
  for (const host of fleet.hosts) host.daemonJson = undefined;
  process.send?.('lost');
});
process.once('disconnect', () => void fleet.close().then(() => process.exit()));
process.send?.({ folder, inventory, env } satisfies Place);
