import { describe, expect, test } from 'vitest';

import { commands } from '../../../src/cli/commands.ts';
import { namesOf, offersFor } from '../../../src/cli/completion.ts';
import { sharedBy, sharedOptions } from '../../../src/cli/command.ts';
import { parseFleet } from '../../../src/fleet/inventory/load.ts';

const source = `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
projects: [vision, "two words"]
defaults: { pool: gpu-lab, labels: { room: b12 } }
groups: { hopper: { hosts: [h200-1, h200-2] } }
hosts:
  h200-1: { agents: [{ name: train, gpus: [0] }, { name: test, gpus: [1] }] }
  h200-2: { agents: 2, pool: gpu-big, labels: { owner: "the lab; rm -rf /" } }
  rtx-box: {}
`;
const fleet = namesOf(parseFleet(source, 'lab.yaml', { env: {}, cwd: '/', home: '/' }));
const emptyFleet = namesOf({ hosts: [], projects: [] });

/** Returns the completions of the last word of a line; the inventory is lab.yaml. */
function offered(line: string) {
  const { offers, paths } = offersFor(line.split(' ').slice(1), commands, (file = 'lab.yaml') =>
    file === 'lab.yaml' ? fleet : emptyFleet,
  );
  return { values: offers.map(({ value }) => value), paths };
}

describe('words', () => {
  test.each<[string, readonly string[]]>([
    ['azp-fleet compl', ['completion']],
    ['azp-fleet --json compl', ['completion']],
    ['azp-fleet -i other.yaml compl', ['completion']],
    ['azp-fleet --limit status compl', ['completion']],
    ['azp-fleet image ', ['list', 'which', 'build', 'help']],
    ['azp-fleet --json inventory --limit h1 ch', ['check']],
    ['azp-fleet inv', ['inventory']],
    ['azp-fleet nonsense ', []],
    ['azp-fleet help', ['help']],
    ['azp-fleet help inventory s', ['show']],
    ['azp-fleet help dra', ['drain']],
    ['azp-fleet help drain ', []],
    ['azp-fleet inventory help l', ['list']],
    ['azp-fleet status ', ['h200-1', 'h200-2', 'rtx-box', 'hopper', 'room=b12', 'all']],
    ['azp-fleet status rtx-box h', ['h200-1', 'h200-2', 'hopper']],
    ['azp-fleet status h200-1 h200', ['h200-2']],
    ['azp-fleet status rtx-box,!h200', ['rtx-box,!h200-1', 'rtx-box,!h200-2']],
    ['azp-fleet plan --limit ro', ['room=b12']],
    ['azp-fleet plan --limit=hop', ['--limit=hopper']],
    ['azp-fleet --limit hop', ['hopper']],
    ['azp-fleet status -i other.yaml h', []],
    ['azp-fleet status other.yaml h', []],
    ['azp-fleet status --inventory=lab.yaml rt', ['rtx-box']],
    ['azp-fleet ssh h', ['h200-1', 'h200-2']],
    ['azp-fleet ssh h200-1 ', []],
    ['azp-fleet logs h200', ['h200-1', 'h200-2', 'h200-1/train', 'h200-1/test', 'h200-2/0', 'h200-2/1']],
    ['azp-fleet logs h200-1/', ['h200-1/train', 'h200-1/test', 'h200-1/h200-1-train', 'h200-1/h200-1-test']],
    ['azp-fleet drain h200-1/h', ['h200-1/h200-1-train', 'h200-1/h200-1-test']],
    ['azp-fleet drain h200', ['h200-1', 'h200-2']],
    [
      'azp-fleet undrain rtx-box,h200-2/',
      ['0', '1', 'h200-2-0', 'h200-2-1'].map((name) => `rtx-box,h200-2/${name}`),
    ],
    ['azp-fleet status h200-2/0', ['h200-2/0']],
    ['azp-fleet adopt h200-1/t', ['h200-1/train', 'h200-1/test']],
    ['azp-fleet reboot h200-1/', []],
    ['azp-fleet drain h200-1 --slot ', ['train', 'test']],
    ['azp-fleet drain --slot ', ['train', 'test', '0', '1']],
    ['azp-fleet pool create gpu', ['gpu-lab', 'gpu-big']],
    ['azp-fleet pool authorize --project ', ['vision']],
    ['azp-fleet completion ', ['bash', 'zsh', 'fish']],
    ['azp-fleet exec -- nvid', []],
    ['azp-fleet remove h', ['h200-1', 'h200-2', 'hopper']],
    ['azp-fleet remove --gone h200-1 --gone rt', ['rtx-box']],
    ['azp-fleet init ', []],
    ['azp-fleet setup --add h', []],
  ])('%s', (line, values) => {
    expect(offered(line).values.filter((value) => !value.startsWith('owner='))).toEqual(values);
  });

  test('words with special characters of the shell are not offered', () => {
    expect(offered('azp-fleet status owner').values).toEqual([]);
  });
});

describe('options', () => {
  const longNames = (options: readonly { readonly flags: string }[]) =>
    options.flatMap(({ flags }) => /--[\w-]+/.exec(flags) ?? []);

  test('before a command: the shared ones', () => {
    expect(offered('azp-fleet --').values).toEqual([...longNames(sharedOptions), '--help']);
  });

  test.each(commands.map((command) => [command.name, command] as const))(
    '%s: all that it takes',
    (name, command) => {
      const all = longNames([...(command.options ?? []), ...sharedBy(command)]);
      expect(offered(`azp-fleet ${name} --`).values).toEqual([...all, '--help']);
    },
  );
});

describe('files', () => {
  test.each([
    ['azp-fleet -i ', 'inventories'],
    ['azp-fleet status ', 'inventories'],
    ['azp-fleet status -i lab.yaml ', 'none'],
    ['azp-fleet plan -o ', 'files'],
    ['azp-fleet plan --out=', 'files'],
    ['azp-fleet diagnose ', 'files'],
    ['azp-fleet plan --parallel ', 'none'],
    ['azp-fleet completion ', 'none'],
    ['azp-fleet ', 'none'],
  ])('%s', (line, paths) => {
    expect(offered(line).paths).toBe(paths);
  });
});
