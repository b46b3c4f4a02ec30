// What breaks between a host, its manager and the server, and the verdict of `status` on each. What breaks on the host itself is in
// host-failures.test.ts. Real: CLI, SSH, systemd, manager, Docker, host keys, lost packets. Stand-ins: the GPUs, the agent program,
// Azure DevOps, and `date` for a clock that is off.
import { afterAll, beforeAll, test } from 'vitest';

import { type Fault, FailingHosts } from '../support/failing-hosts.ts';
import { wrongClock } from '../support/host-faults.ts';
import { ManagedHost } from '../support/managed-host.ts';

let failing: FailingHosts;
let managed: ManagedHost;
beforeAll(async () => {
  failing = await FailingHosts.start(
    'unconnected',
    [{ name: 'hook', release: 'bookworm', gpus: ['h200'] }],
    {},
  );
  managed = new ManagedHost(failing.lab.host('hook'), failing.azure);
  await managed.are('idle');
});
afterAll(() => failing.lab.remove());

const faults: Readonly<Record<string, Fault>> = {
  'the manager is stopped': {
    begin: 'systemctl stop azp-fleet-manager',
    end: 'systemctl start azp-fleet-manager',
    code: 'manager.down',
    state: 'failed',
    cause: /the manager is inactive/,
    alone: true,
  },
  'the agent was deleted at the server': {
    begin: () => managed.loseAgent('hook-0'),
    end: 'kill -CONT $(docker top hook-0 -eo pid | tail -n +2)',
    code: 'agents.offline',
    state: 'failed',
    cause: /not registered in pool gpu-lab/,
  },
  'the proxy is dead': {
    begin: () => managed.restartWith('config.proxy.http = "http://127.0.0.1:9";'),
    end: 'cd /etc/azp-fleet; mv manager.json.before manager.json; systemctl restart azp-fleet-manager',
    code: 'azure.no-connection',
    state: 'failed',
    cause: /127\.0\.0\.1:9/,
  },
  'the token has ended': {
    begin: () => failing.azure.control.setToken('expired'),
    end: () => failing.azure.control.setToken('valid'),
    code: 'azure.auth',
    state: 'failed',
    cause: /token/,
  },
  'the clock is off': {
    // The manager's report is old by the false clock, so the host is unknown, too.
    begin: wrongClock,
    end: 'rm /usr/local/bin/date',
    code: 'host.clock-off',
    state: 'unknown',
    cause: /10 min old/,
  },
  'the host is down': {
    begin: () => failing.lab.host('hook').blackHole(true),
    end: () => failing.lab.host('hook').blackHole(false),
    code: 'ssh.timeout',
    state: 'unreachable',
    cause: /./,
    alone: true,
  },
  'another machine answers': {
    begin:
      'mkdir /root/keys-kept; mv /etc/ssh/ssh_host_* /root/keys-kept; ssh-keygen -A; systemctl restart ssh',
    end: 'rm /etc/ssh/ssh_host_*; mv /root/keys-kept/* /etc/ssh; rmdir /root/keys-kept; systemctl restart ssh',
    code: 'ssh.host-key-mismatch',
    state: 'unreachable',
    cause: /key/,
    alone: true,
  },
};

test.each(Object.entries(faults))('%s: status names that', (what, fault) =>
  failing.expectVerdict(what, fault),
);
