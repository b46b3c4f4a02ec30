import type { CommandSpec, OptionSpec } from './command.ts';

const ofTheInventory: readonly OptionSpec[] = [
  {
    flags: '-i, --inventory <file>',
    description: 'the inventory (default: $AZP_FLEET_INVENTORY, then ./inventory.yaml)',
  },
  {
    flags: '--limit <pattern>',
    description: 'only these of the hosts: name, group, label=value, glob, !exclusion, all; repeatable',
    repeat: true,
  },
];
const ofSsh: OptionSpec = {
  flags: '--ssh-config <file>',
  description: "ssh's configuration is in this file instead of the usual ones (ssh -F); none: nowhere",
};
const json: OptionSpec = { flags: '--json', description: 'one JSON document on stdout instead of text' };
const ofAll: readonly OptionSpec[] = [
  { flags: '--yes', description: 'do not ask' },
  { flags: '--debug', description: 'show stack traces and where the debug log is' },
  { flags: '--no-color', description: 'plain text' },
];

/** The options that do not belong to one command. They are taken before its name as well as after it. */
export const sharedOptions: readonly OptionSpec[] = [...ofTheInventory, ofSsh, json, ...ofAll];

/** Those of them that mean something to a command. */
export function sharedBy(spec: CommandSpec): readonly OptionSpec[] {
  return [
    ...(spec.inventory === false ? [] : ofTheInventory),
    ...(spec.inventory === false && spec.sshConfig !== true ? [] : [ofSsh]),
    ...(spec.json === false ? [] : [json]),
    ...ofAll,
  ];
}
