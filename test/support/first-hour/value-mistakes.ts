import { ann, inItsPlace, type Mistake } from './mistake.ts';

const typed = 'inventory check';

/** Wrong names, numbers and texts in the inventory. */
export const valueMistakes: readonly Mistake[] = [
  {
    name: 'a duplicate host',
    make: (world) =>
      world.edit('  rtx-7:\n    address: 192.0.2.7\n', '  h200-1:\n    labels: { room: b12 }\n'),
    typed,
    place: 'inventory.yaml:19:3',
    by: ann(/^merge both into one$/, 'keeps the second line out', (world) =>
      world.edit('  h200-1:\n    labels', '    labels'),
    ),
  },
  {
    name: 'a blank in the name of a host',
    make: (world) => world.edit('  rtx-7:', '  rtx 7:'),
    typed,
    place: 'inventory.yaml:19:3',
    by: ann(/^rename it$/, 'writes rtx-7', (world) => world.edit('rtx 7', 'rtx-7')),
  },
  {
    name: 'one machine under two names',
    make: (world) => world.edit('address: 192.0.2.7', `address: 127.0.0.1\n    port: ${world.host.port}`),
    typed,
    place: 'inventory.yaml:20:14',
    by: ann(/^remove one of the hosts; for two pools/, 'takes rtx-7 out', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/  rtx-7:[^]*$/, '')),
    ),
  },
  {
    name: 'hosts as a list',
    make: (world) =>
      world.write(
        'inventory.yaml',
        world.read('inventory.yaml').replace(/  h200-1:\n[^]*$/, '  - h200-1\n  - rtx-7\n'),
      ),
    typed,
    place: 'inventory.yaml:15:3',
    by: ann(/^write each host as `NAME: {}`, without a leading -$/, 'does so', (world) => {
      world.edit('  - h200-1', '  h200-1:');
      world.edit('  - rtx-7', '  rtx-7:');
    }),
  },
  {
    name: 'hosts is misspelt',
    make: (world) => world.edit('\nhosts:', '\nhost:'),
    typed,
    place: 'inventory.yaml:14:1',
  },
  {
    name: 'one project, and no list of them',
    make: (world) => world.edit('[vision]', 'vision'),
    typed,
    place: 'inventory.yaml:3:11',
  },
  {
    name: 'a group has the name of a host',
    make: (world) => world.edit('hopper: {', 'h200-1: {'),
    typed,
    place: 'inventory.yaml:12:11',
    by: ann(/^rename one of them/, 'renames the group', (world) => world.edit('h200-1: {', 'hopper: {')),
  },
  {
    name: 'more agents than GPUs',
    make: (world) => world.edit('gpus: 2', 'gpus: 2\n    agents: 4'),
    typed,
    place: 'inventory.yaml:19:13',
  },
  {
    name: 'a number in words',
    make: (world) => world.edit('gpus: 2', 'gpus: two'),
    typed,
    place: 'inventory.yaml:18:11',
    by: ann(inItsPlace, 'writes 2', (world) => world.edit('two', '2')),
  },
  {
    name: 'words where one word is known',
    make: (world) => world.edit('agents: 1', 'agents: one per gpu'),
    typed,
    place: 'inventory.yaml:21:13',
  },
  {
    name: 'the user is in the address',
    make: (world) => world.edit('address: 127.0.0.1', 'address: ann@127.0.0.1'),
    typed,
    place: 'inventory.yaml:16:14',
  },
  {
    name: 'the port is in the address',
    make: (world) => world.edit('address: 192.0.2.7', 'address: 192.0.2.7:2222'),
    typed,
    place: 'inventory.yaml:20:14',
  },
  {
    name: 'a dataset by a path that is not absolute',
    make: (world) =>
      world.edit('agents: 1', 'datasets: { IMAGENET: { host: data/imagenet, container: /data } }'),
    typed,
    place: 'inventory.yaml:21:35',
    by: ann(inItsPlace, 'writes /data/imagenet', (world) => world.edit('data/imagenet', '/data/imagenet')),
  },
  {
    name: 'a dataset in small letters',
    make: (world) =>
      world.edit('agents: 1', 'datasets: { imagenet: { host: /data/imagenet, container: /data } }'),
    typed,
    place: 'inventory.yaml:21:17',
    by: ann(/^rename it$/, 'writes IMAGENET', (world) => world.edit('{ imagenet:', '{ IMAGENET:')),
  },
  {
    name: 'a variable that is not set',
    make: (world) => world.edit('192.0.2.7', '${LAB_NET}.7'),
    typed,
    place: 'inventory.yaml:20:14',
    by: ann(/^export (LAB_NET)=…/, 'exports it', (world, [, name = '']) => (world.env[name] = '192.0.2')),
  },
  {
    name: 'quotes out of a document',
    make: (world) => world.edit('pool: gpu-lab', 'pool: “gpu-lab”'),
    typed,
    place: 'inventory.yaml:7:9',
  },
  {
    name: 'a key without a value',
    make: (world) => world.edit('pool: gpu-lab', 'pool:'),
    typed,
    place: 'inventory.yaml:7:8',
    by: ann(inItsPlace, 'writes gpu-lab', (world) => world.edit('pool:\n', 'pool: gpu-lab\n')),
  },
];
