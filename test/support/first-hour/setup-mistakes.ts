import { ann, type Mistake } from './mistake.ts';
import type { World } from './world.ts';

const write = (world: World): void => {
  world.write(
    'ssh_config',
    `Host *\n  IdentityFile ${world.path('.ssh/id_ed25519')}\n  UserKnownHostsFile ${world.path('.ssh/known_hosts')}\n`,
  );
  world.write(
    'answers.yaml',
    `hosts: h9=ann@127.0.0.1:${world.host.port}
organization: ${world.azure.organization}
token: { file: token, expires: 2027-06-01 }
projects: vision
pool: gpu-lab
agents: one-per-gpu
`,
  );
};

/** `answer`: the key that the text names. */
const answered = (name: string, right: string, wrong: string, answer: string): Mistake => ({
  name,
  make: (world) => {
    write(world);
    world.edit(right, wrong, 'answers.yaml');
  },
  typed: 'setup --yes -o new.yaml --ssh-config ssh_config --answers answers.yaml',
  place: `"${answer}"`,
  by: ann(/^correct it in the answers file or in its option$/, `writes ${right} into answers.yaml`, (world) =>
    world.edit(wrong, right, 'answers.yaml'),
  ),
});

/** Answers to the questions of setup, from options and files. */
export const setupMistakes: readonly Mistake[] = [
  answered('a host that is none', 'h9=ann@127.0.0.1:', 'h9=ann@127.0.0.1:x', 'hosts'),
  answered('an organization with a blank', 'organization: http', 'organization: my lab http', 'organization'),
  answered(
    'a repository of GitHub in place of the organization',
    'organization: http',
    'organization: https://github.com/foo # http',
    'organization',
  ),
  answered('an end date that has passed', '2027-06-01', '2025-06-01', 'token.expires'),
  answered('a project that is misspelt', 'vision', 'visoin', 'projects'),
  answered('a name that Azure DevOps refuses', 'gpu-lab', 'gpu/lab', 'pool'),
  {
    name: 'the file of answers has another name',
    make: write,
    typed: 'setup --yes -o new.yaml --ssh-config ssh_config --answers answer.yaml',
    place: '/home/ann.keller/answer.yaml',
    by: ann(/^correct the path$/, 'writes answers.yaml', (world) => {
      world.typed = world.typed.replace('answer.yaml', 'answers.yaml');
    }),
  },
];
