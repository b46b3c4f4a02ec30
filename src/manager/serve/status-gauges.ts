import {
  keptImages,
  type HostHealth,
  type ManagerStatus,
  type SlotStatus,
} from '../../shared/contract/status.ts';
import type { DiskSpace } from '../machine/disk.ts';

/** What is known at a scrape; `disk` is undefined until it has been measured. */
interface Seen {
  readonly status: ManagerStatus;
  readonly disk: DiskSpace | undefined;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is computed anew at each scrape. */
export interface StatusGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (seen: Seen) => readonly Sample[];
}

const slotStates: readonly SlotStatus['state'][] = [
  'starting',
  'idle',
  'busy',
  'stopping',
  'backing-off',
  'drained',
  'quarantined',
  'waiting',
];

const healthStates: readonly HostHealth['state'][] = ['healthy', 'degraded', 'failed', 'hung', 'unknown'];

const problem = ({ status }: Seen, ...prefixes: readonly string[]): boolean =>
  status.problems.some(({ code }) => prefixes.some((prefix) => code.startsWith(prefix)));

const one = (value: number | boolean): readonly Sample[] => [{ value: Number(value) }];

/** What the status says, in the order in which it is served. */
export const statusGauges: readonly StatusGauge[] = [
  {
    name: 'azp_fleet_manager_info',
    help: 'Version of the manager and the name of its host; always 1.',
    labelNames: ['version', 'host'],
    samples: ({ status: { version, host } }) => [{ labels: { version, host }, value: 1 }],
  },
  {
    name: 'azp_fleet_pool_up',
    help: '1 while the pool is found and the server answers.',
    labelNames: ['pool'],
    samples: (seen) => {
      const { pool, pools = [{ name: pool.name, up: !problem(seen, 'azure.', 'pool.') }] } = seen.status;
      return pools.map(({ name, up }) => ({ labels: { pool: name }, value: Number(up) }));
    },
  },
  {
    name: 'azp_fleet_credential_ok',
    help: '0 while the server refuses the credential.',
    labelNames: [],
    samples: (seen) => one(!problem(seen, 'azure.auth')),
  },
  {
    name: 'azp_fleet_docker_up',
    help: '1 while the Docker Engine answers.',
    labelNames: [],
    samples: (seen) => one(!problem(seen, 'engine.unreachable', 'engine.timeout', 'engine.failed')),
  },
  {
    name: 'azp_fleet_drained',
    help: '1 while the whole host is drained.',
    labelNames: [],
    samples: ({ status }) => one(status.drained),
  },
  {
    name: 'azp_fleet_idle_left_seconds',
    help: 'Until the machine ends because nobody uses it; absent where nothing ends it.',
    labelNames: [],
    samples: ({ status: { idle } }) => (idle === undefined ? [] : one(Math.max(0, idle.afterS - idle.idleS))),
  },
  {
    name: 'azp_fleet_image_ready',
    help: '1 while the agent image is on the host; the label is its digest.',
    labelNames: ['digest'],
    samples: ({ status }) =>
      keptImages(status).map(({ digest }) => ({
        labels: { digest: digest ?? '' },
        value: Number(digest !== undefined),
      })),
  },
  {
    name: 'azp_fleet_slots',
    help: 'Number of slots in each state.',
    labelNames: ['state'],
    samples: ({ status: { slots } }) =>
      slotStates.map((state) => ({
        labels: { state },
        value: slots.filter((slot) => slot.state === state).length,
      })),
  },
  {
    name: 'azp_fleet_slot_info',
    help: 'State of each slot; always 1.',
    labelNames: ['slot', 'agent', 'state'],
    samples: ({ status: { slots } }) =>
      slots.map(({ slot, agent, state }) => ({ labels: { slot, agent, state }, value: 1 })),
  },
  {
    name: 'azp_fleet_slot_pool',
    help: 'Pool of each slot, and the image that it runs; always 1.',
    labelNames: ['slot', 'pool', 'image'],
    samples: ({ status: { slots, pool } }) =>
      slots.map(({ slot, pool: own = pool.name, image = '' }) => ({
        labels: { slot, pool: own, image },
        value: 1,
      })),
  },
  {
    name: 'azp_fleet_slot_away_since_timestamp_seconds',
    help: 'Since when nobody has been there to take a job; absent while one is, and while the slot is closed or drained.',
    labelNames: ['slot', 'agent'],
    samples: ({ status: { slots } }) =>
      slots.flatMap(({ slot, agent, awaySince = '' }) => {
        const since = Date.parse(awaySince) / 1000;
        return Number.isFinite(since) ? [{ labels: { slot, agent }, value: since }] : [];
      }),
  },
  {
    name: 'azp_fleet_health',
    help: '1 for the state that the health of the host is in.',
    labelNames: ['state'],
    samples: ({ status: { health } }) =>
      healthStates.map((state) => ({ labels: { state }, value: Number(health.state === state) })),
  },
  {
    name: 'azp_fleet_health_finding',
    help: 'One per finding of the health check; always 1.',
    labelNames: ['code', 'severity', 'gpu'],
    samples: ({ status: { health } }) =>
      health.findings.map(({ code, severity, gpu = '' }) => ({ labels: { code, severity, gpu }, value: 1 })),
  },
  {
    name: 'azp_fleet_disk_free_bytes',
    help: 'Free space on the disk of Docker.',
    labelNames: [],
    samples: ({ disk }) => (disk === undefined ? [] : one(disk.freeBytes)),
  },
  {
    name: 'azp_fleet_disk_total_bytes',
    help: 'Size of the disk of Docker.',
    labelNames: [],
    samples: ({ disk }) => (disk === undefined ? [] : one(disk.totalBytes)),
  },
];
