import type { CommandSpec } from '../../command.ts';

/** One archive for networks that nothing leads into. */
export const bundleCommands: readonly CommandSpec[] = [
  {
    name: 'bundle',
    summary: 'gather all that hosts without the internet need into one file, or look into such a file',
    description:
      'Reads the hosts, fetches packages, images, the Node and the manager for them, and checks whatever is signed. "provision --bundle FILE" then needs SSH and Azure DevOps, and no other network. Needs Docker on this machine.',
    positionals: '[hosts...]',
    options: [
      { flags: '-o, --out <file>', description: 'the file to write' },
      {
        flags: '--for <system>',
        description:
          'for hosts of this system, e.g. debian-12/x86_64, instead of reading the hosts; repeatable',
        repeat: true,
      },
      {
        flags: '--kernel <release>',
        description: 'with --for: also the headers of this kernel (uname -r); repeatable',
        repeat: true,
      },
      { flags: '--show <file>', description: 'what a bundle holds; every byte of it is checked' },
      { flags: '--parallel <n>', description: 'hosts at the same time', default: '20' },
    ],
    examples: [
      ['azp-fleet bundle inventory.yaml -o site.bundle', 'for all hosts, which can be reached from here'],
      ['azp-fleet bundle -o site.bundle --for ubuntu-24.04/x86_64', 'for hosts that cannot'],
      ['azp-fleet bundle --show site.bundle', 'what is in it'],
    ],
    json: ['file', 'bundle'],
    load: () => import('./bundle.ts'),
  },
];
