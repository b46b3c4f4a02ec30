import { readFileSync } from 'node:fs';
import { agentStart } from '../../../../src/manager/docker/agent-setup.ts';
import { configScript } from '../../../../src/manager/registration/register-by-config.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../support/scratch/host.ts';

const ownScript = readFileSync(new URL('../../../../dockeragent/start.sh', import.meta.url), 'utf8');
const foreignScript =
  (agentStart({ kind: 'registry', reference: 'me/agent:1' }, 59_000).Entrypoint as string[]).at(-1) ?? '';

const missing = (file: string) => ({
  code: 78,
  stderr: `azp-fleet: ${file} is missing: this container is started by azp-fleet-manager, which registers the agent\n`,
});
const home = (path: string) =>
  Object.fromEntries(
    [path, `${path}/.config`, `${path}/.local`, `${path}/.local/share`].map((each) => [each, '755 /']),
  );
const listener = (path: string) => ({ code: 3, stdout: `/azp run --once ${path}\n` });

/** \`AT ARGUMENTS HOME\`, and what a listener and a config.sh end with. */
function prepared(host: ScratchHost): void {
  for (const name of ['.agent', '.credentials', '.credentials_rsaparams']) host.file(`/azp/${name}`);
  host
    .folder('/home')
    .program('/azp/bin/Agent.Listener', 'echo "$(pwd) $* $HOME"; exit 3', { silent: true })
    .program(
      '/azp/config.sh',
      'printf "<%s>" "$@"; echo "$(pwd) $HOME <$VSTS_AGENT_INPUT_TOKEN> ${secret-} $(cat)"; exit 3',
      { silent: true },
    );
}

const starts = [
  ['our image', ownScript],
  ["a user's image", foreignScript],
] as const;

export const agentStartSuite: ScriptSuite = {
  name: 'starting and registering an agent in a container',
  flags: [],
  given: prepared,
  cases: [
    ...starts.flatMap(([image, script]) => [
      {
        name: `${image}: the home that there is`,
        script,
        run: { env: { HOME: '/home/some,one' } },
        after: { ...listener('/home/some,one'), files: home('/home/some,one') },
      },
      {
        name: `${image}: without one, the agent's own`,
        script,
        run: { env: { HOME: '' } },
        after: { ...listener('/home/agent'), files: home('/home/agent') },
      },
      {
        name: `${image}: a home that cannot be written gives way to one below the agent`,
        script,
        given: (host: ScratchHost) => host.file('/home/file'),
        run: { env: { HOME: '/home/file' } },
        after: { ...listener('/azp/home'), files: home('/azp/home') },
      },
    ]),
    {
      name: 'our image: where the base sets no HOME, the agent gets it',
      script: `unset HOME\n${ownScript}`,
      after: { ...listener('/home/agent'), files: home('/home/agent') },
    },
    ...['.agent', '.credentials', '.credentials_rsaparams'].map((file) => ({
      name: `our image: without ${file} it says who starts it`,
      script: ownScript,
      given: (host: ScratchHost) => host.drop(`/azp/${file}`),
      after: missing(file),
    })),
    {
      name: 'our image: without the folder of the agent it starts nothing',
      script: ownScript,
      given: (host) => host.drop('/azp'),
      after: { code: 2, stderr: "script: cd: can't cd to /azp\n" },
    },
    {
      name: "a user's image without an agent starts nothing else of that name",
      script: foreignScript,
      given: (host) =>
        host.drop('/azp').program('/root/bin/Agent.Listener', 'echo "the wrong one"', { silent: true }),
      run: { env: { HOME: '/home/x' } },
      after: { code: 2, stderr: "script: cd: can't cd to /azp\n", files: home('/home/x') },
    },
    {
      name: 'config.sh gets the secret only in its own variable',
      script: configScript,
      given: (host) => host.file('/home/file'),
      run: {
        args: ['--url', "it's a"],
        input: "s3c ret\\ '\nrest\n",
        env: { HOME: '/home/file', SECRET_INPUT: 'VSTS_AGENT_INPUT_TOKEN', secret: 'of the image' },
      },
      after: {
        code: 3,
        stdout: "<--url><it's a>/azp /azp/home <s3c ret\\ '>  rest\n",
        files: home('/azp/home'),
      },
    },
    {
      name: 'only the config.sh of the agent is run',
      script: configScript,
      given: (host) => host.drop('/azp').program('/root/config.sh', 'echo "the wrong one"', { silent: true }),
      run: { input: 's3cret\n', env: { HOME: '/home/x', SECRET_INPUT: 'VSTS_AGENT_INPUT_TOKEN' } },
      after: { code: 2, stderr: "script: cd: can't cd to /azp\n", files: home('/home/x') },
    },
  ],
};
