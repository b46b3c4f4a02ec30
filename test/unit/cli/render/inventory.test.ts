import { expect, test } from 'vitest';

import { agentNames, fleetSummary, hostTable, hostYaml } from '../../../../src/cli/render/inventory.ts';
import { fleet } from '../../fleet/inventory/fixture.ts';

const lab = fleet(`
defaults: { pool: gpu-lab, user: labadmin }
groups: { hopper: { vars: { pool: gpu-hopper }, hosts: [h200-1] } }
hosts:
  h200-1: { address: 192.0.2.11, gpus: 2, labels: { room: b12, rack: 7 } }
  rtx-box: { port: 2222, agents: 2, share: true }
  plain: { user: root }
  slots: { agents: [{ name: train, gpus: [0] }, { gpus: [1] }] }
`);

test('the list has the names for --limit and the address of each host', () => {
  expect(hostTable(lab.hosts, 100)).toEqual([
    'HOST     ADDRESS                POOL        AGENTS          GROUPS  LABELS',
    'h200-1   labadmin@192.0.2.11    gpu-hopper  2, one per GPU  hopper  room=b12, rack=7',
    'rtx-box  labadmin@rtx-box:2222  gpu-lab     2, shared GPUs  -       -',
    'plain    root@plain             gpu-lab     one per GPU     -       -',
    'slots    labadmin@slots         gpu-lab     2               -       -',
  ]);
  expect(fleetSummary(lab)).toBe('4 hosts, 2 pools, https://dev.azure.com/example');
});

test('agents are named as far as the inventory determines it', () => {
  expect(lab.hosts.map(agentNames)).toEqual([
    ['h200-1-0', 'h200-1-1'],
    ['rtx-box-0', 'rtx-box-1'],
    ['plain-<gpu>'],
    ['slots-train', 'slots-1'],
  ]);
});

test('shared memory is shown as shared, a limit as a limit', () => {
  const shown = (limits: string): string => {
    const [host] = fleet(`hosts: { a: { pool: p${limits} } }`).hosts;
    return host === undefined ? '' : hostYaml(host, {});
  };
  const memoryLine = "  # memory: an equal part of the host's, as plan and status show\n  limits:";
  expect(shown('')).toContain(memoryLine);
  expect(shown(', limits: { cpus: 4 }')).toContain(`${memoryLine}\n    cpus: 4\n`);
  expect(shown(', limits: { memory: 8g }')).not.toContain('equal part');
});
