// Answers of hosts, managers and Azure DevOps in which each text is hostile.
import { evil } from '../../support/hostile-words.ts';
import { managerStatus } from '../../support/manager-status.ts';

/** Returns a value with each text replaced by the hostile one, except under the keys in `keep`. */
function poisoned(value: unknown, keep: ReadonlySet<string> = new Set(), key = ''): unknown {
  if (typeof value === 'string') return keep.has(key) ? value : evil;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, keep, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poisoned(item, keep, name)]));
}

/** Facts of an ordinary machine. */
export const facts = {
  os: 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu 24.04"\n',
  machine:
    'kernel 6.8.0\narch x86_64\nmachine-id 0123\nboot-id 4567\nsystemd systemd 255\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n',
  manager: 'current /opt/azp-fleet/versions/1\nActiveState=active\nUnitFileState=enabled\n',
};

const at = new Date().toISOString();
const finding = { code: 'x', severity: 'fail', what: 'w', next: 'n', gpu: 'g' } as const;
/** A manager status in which each text is as hostile as the schema permits. */
export const evilStatus = poisoned(
  managerStatus({
    at,
    pool: { name: 'p', id: 1 },
    image: {
      state: 'ready',
      digest: 'd',
      cause: 'c',
      reference: 'r',
      asked: { at, state: 'failed', cause: 'c', output: ['o'] },
    },
    images: [{ state: 'ready', digest: 'd', cause: 'c', slots: ['0'] }],
    owner: 'o',
    drained: true,
    drains: [{ reason: 'r', at, owner: 'o', run: 'r', slot: '0' }],
    slots: [
      {
        slot: '0',
        agent: 'a',
        pool: 'p',
        state: 'busy',
        gpus: ['g'],
        job: 'j',
        jobSince: at,
        since: at,
        cause: 'c',
        code: 'x',
        next: 'n',
        container: 'c',
        jobsRun: 1,
      },
    ],
    health: {
      state: 'failed',
      checkedAt: at,
      cudaVersion: '12',
      gpus: [{ uuid: 'u', name: 'n' }],
      findings: [finding],
    },
    problems: [{ code: 'x', what: 'w', next: 'n' }],
  } as never),
  new Set(['state', 'severity', 'schema']),
);
export const evilRun = poisoned(
  {
    schema: 1,
    run: 'r',
    slot: '0',
    agent: 'a',
    image: 'i',
    gpus: ['g'],
    startedAt: at,
    finishedAt: at,
    oomKilled: false,
    job: 'j',
    result: 'r',
    cause: { code: 'x', what: 'w', next: 'n' },
    unfinished: { job: 'j', until: at },
    log: ['l'],
  },
  new Set(),
);

export const agent = {
  id: 7,
  name: evil,
  version: evil,
  enabled: true,
  status: 'offline',
  statusChangedOn: '2020-01-01T00:00:00Z',
  systemCapabilities: { [evil]: evil },
  userCapabilities: { [evil]: evil },
  assignedRequest: {
    requestId: 1,
    jobName: evil,
    queueTime: evil,
    owner: { id: 1, name: evil, _links: { web: { href: evil } } },
  },
  lastCompletedRequest: { requestId: 2, jobName: evil, result: evil, finishTime: evil },
};
/** Answers of Azure DevOps with hostile names everywhere. */
export function evilAzure(path: string): readonly [number, unknown] {
  if (path.includes('/agents')) return [200, { value: [agent] }];
  if (path.includes('/jobrequests'))
    return [
      200,
      {
        value: [
          {
            requestId: 3,
            jobName: evil,
            demands: [evil],
            queueTime: evil,
            reservedAgent: { id: 7, name: evil },
          },
        ],
      },
    ];
  if (path.includes('/queues')) return [200, { value: [{ id: 1, name: evil, pool: { id: 1, name: evil } }] }];
  if (path.includes('/resource'))
    return [
      200,
      { resourceLimit: { parallelismTag: evil, totalCount: evil }, usedCount: evil, value: [evil] },
    ];
  const pools = [
    { id: 1, name: 'p', autoUpdate: true, size: 1 },
    { id: 2, name: evil, autoUpdate: false, size: 1 },
  ];
  return [200, path.includes('/pools') ? { value: pools } : {}];
}

/** Returns an `SSH_MSG_DISCONNECT` with this text, which a server may send first. */
export function disconnect(words: string): Buffer {
  const text = Buffer.from(words);
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const payload = Buffer.concat([Buffer.from([1]), number(2), number(text.length), text, number(0)]);
  const padding = 8 + (8 - ((payload.length + 5) % 8));
  const packet = Buffer.concat([
    number(payload.length + padding + 1),
    Buffer.from([padding]),
    payload,
    Buffer.alloc(padding),
  ]);
  return Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), packet]);
}
