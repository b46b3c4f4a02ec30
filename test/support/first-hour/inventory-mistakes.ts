import { ann, type Helper, type Mistake } from './mistake.ts';

const typed = 'inventory check';

/** The user corrects the named line. */
const atTheCaret = (wrong: string, right: string): Helper =>
  ann(/^correct the YAML here or in the lines above/, 'corrects the line', (world) =>
    world.edit(wrong, right),
  );

/** The file itself. */
export const inventoryMistakes: readonly Mistake[] = [
  {
    name: 'a tab in place of spaces',
    make: (world) => world.edit('  pool: gpu-lab', '\tpool: gpu-lab'),
    typed,
    place: 'inventory.yaml:7:1',
    by: atTheCaret('\tpool: gpu-lab', '  pool: gpu-lab'),
  },
  {
    name: 'a colon is missing',
    make: (world) => world.edit('pool: gpu-lab', 'pool gpu-lab'),
    typed,
    place: 'inventory.yaml:7:3',
    by: atTheCaret('pool gpu-lab', 'pool: gpu-lab'),
  },
  {
    name: 'no blank behind a colon',
    make: (world) => world.edit('pool: gpu-lab', 'pool:gpu-lab'),
    typed,
    place: 'inventory.yaml:7:3',
    by: atTheCaret('pool:gpu-lab', 'pool: gpu-lab'),
  },
  {
    name: 'a line is indented too far',
    make: (world) => world.edit('    gpus: 2', '      gpus: 2'),
    typed,
    place: 'inventory.yaml:17:11',
    by: atTheCaret('      gpus: 2', '    gpus: 2'),
  },
  {
    name: 'a line is not indented far enough',
    make: (world) => world.edit('    gpus: 2', '   gpus: 2'),
    typed,
    place: 'inventory.yaml:18:1',
    by: atTheCaret('   gpus: 2', '    gpus: 2'),
  },
  {
    name: 'a quote is not closed',
    make: (world) => world.edit('pool: gpu-lab', 'pool: "gpu-lab'),
    typed,
    place: 'inventory.yaml:21:13',
    by: atTheCaret('pool: "gpu-lab', 'pool: gpu-lab'),
  },
  {
    name: 'a brace is not closed',
    make: (world) => world.edit('{ hosts: [h200-1] }', '{ hosts: [h200-1]'),
    typed,
    place: 'inventory.yaml:14:1',
    by: atTheCaret('{ hosts: [h200-1]', '{ hosts: [h200-1] }'),
  },
  {
    name: 'a key is misspelt',
    make: (world) => world.edit('address: 127', 'adress: 127'),
    typed,
    place: 'inventory.yaml:16:5',
  },
  {
    name: 'a key by the name that Ansible has for it',
    make: (world) => world.edit('address: 127', 'ansible_host: 127'),
    typed,
    place: 'inventory.yaml:16:5',
  },
  {
    name: 'a host of a group is misspelt',
    make: (world) => world.edit('[h200-1]', '[h200-l]'),
    typed,
    place: 'inventory.yaml:12:21',
  },
  {
    name: 'a port in quotes',
    make: (world) => world.edit(`port: ${world.host.port}`, `port: "${world.host.port}"`),
    typed,
    place: 'inventory.yaml:17:11',
  },
  {
    name: 'a driver branch without quotes',
    make: (world) => world.edit('gpus: 2', 'driver: { branch: 580 }'),
    typed,
    place: 'inventory.yaml:18:23',
  },
];
