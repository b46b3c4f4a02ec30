import type { CommandSpec } from './command.ts';
import { bundleCommands } from './commands/bundle/commands.ts';
import { fleetCommands } from './commands/fleet/commands.ts';
import { imageCommands } from './commands/image/commands.ts';
import { inventoryCommands } from './commands/inventory/commands.ts';
import { poolCommands } from './commands/pool/commands.ts';
import { slotCommands } from './commands/slots/commands.ts';
import { sshCommands } from './commands/ssh/commands.ts';
import { startCommands } from './commands/start/commands.ts';

/**
 * Every command, in the order of `--help`. Declarations only: nothing heavy may be imported by these tables, because
 * they are read at every start.
 */
export const commands: readonly CommandSpec[] = [
  ...startCommands,
  ...inventoryCommands,
  ...fleetCommands,
  ...slotCommands,
  ...imageCommands,
  ...bundleCommands,
  ...poolCommands,
  ...sshCommands,
];
