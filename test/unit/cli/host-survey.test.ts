// What a command can know of hosts without Azure DevOps: facts, plans and sessions.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { planNow, reachHosts } from '../../../src/apply/survey.ts';
import { FleetError } from '../../../src/base/errors.ts';
import { openHosts } from '../../../src/cli/hosts.ts';
import { Options } from '../../../src/cli/options.ts';
import { hostTools } from '../../../src/cli/planning-tools.ts';
import { connected, overSsh } from '../../../src/cli/with-hosts.ts';
import type { Transport } from '../../../src/ssh/transport.ts';
import { quietContext } from '../../support/command.ts';
import { FakeHost } from '../apply/fake-fleet.ts';
import { useFake } from '../azure/fake/server.ts';

const fake = useFake();

test('hosts are surveyed without a request to Azure DevOps and without the token', async () => {
  const asked = join(fake.folder, 'asked');
  writeFileSync(
    join(fake.folder, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { cmd: "touch ${asked}; echo good-token" }
defaults: { pool: gpu-lab }
hosts: { up: {}, down: {} }
`,
  );
  const { context } = quietContext({ cwd: fake.folder });
  const input = {
    positionals: [],
    rest: [],
    options: new Options({}),
    inventory: 'lab.yaml',
    commandLine: 'azp-fleet look',
    commands: [],
  };
  const machine = new FakeHost([]);
  const { gather, steps, desired, transport } = machine.tools();
  const refusing = (): Transport => ({
    close: () => transport.close(),
    connect: async (target) => {
      if (target.name === 'up') return transport.connect(target);
      throw new FleetError({ code: 'ssh.refused', what: 'nobody listens' });
    },
  });
  const found = await connected(
    context,
    input,
    openHosts(context, input),
    { ...overSsh, connect: refusing },
    async (at) => {
      const tools = { ...hostTools(context, input, at), gather };
      const reached = await reachHosts(at.hosts, tools, { follow: false });
      return Promise.all(
        reached.map(async (host) => {
          if (!('facts' in host)) return host;
          const session = await host.connection.session();
          const plan = planNow(host.facts, host.host, { ...tools, steps, desired });
          return { session: session.closed.aborted, kernel: host.facts.kernel, stages: plan.stages };
        }),
      );
    },
  );
  expect(found).toEqual([
    { session: false, kernel: '6.1.0-32-amd64', stages: [] },
    { host: 'down', state: 'unreachable', changes: 0, problem: expect.objectContaining({ host: 'down' }) },
  ]);
  expect(existsSync(asked)).toBe(false);
  expect(await fake.control.requests()).toEqual([]);
});
