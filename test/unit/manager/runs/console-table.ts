// The agent's console and exit code, with their meaning. The rows were recorded with v5 (5.278) against the practice server;
// other texts are from the agent's strings.json, which v4 (4.275) and v5 share. The two differ only in signals, as noted.
import type { ContainerExit } from '../../../../src/shared/engine/engine.ts';

export const start = 'Scanning for tool capabilities.\nConnecting to the server.\n';
export const listening = `${start}2026-11-21 02:00:00Z: Listening for Jobs\n`;
const running = `${listening}2026-11-21 02:00:01Z: Running job: build (a) b\n`;
const completed = (result: string): string =>
  `${running}2026-11-21 02:00:09Z: Job build (a) b completed with result: ${result}\n`;
const inConflict =
  `${start}A session for this agent already exists.\n` +
  '2026-11-21 02:00:01Z: Agent connect error: The task agent box-0 already has an active session for owner c0ffee.. Retrying until reconnected.\n' +
  'A session for this agent already exists.\n';
type Exit = number | `${number}, out of memory`;

/** Runs without a job: situation, console, exit code, cause, part of its text. */
const withoutJob: readonly (readonly [string, string, Exit, string, string?])[] = [
  [
    'session lost while idle, not recovered',
    `${listening}An error occurred: The session has expired.\n`,
    2,
    'agent.session-lost',
  ],
  [
    'session conflict, given up after 212 s',
    `${inConflict}Stop retry on SessionConflictException after retried for 240 seconds.\nFailed to create session. The task agent box-0 already has an active session for owner c0ffee.\n`,
    1,
    'agent.session-conflict',
  ],
  ['session conflict, then killed', inConflict, 137, 'agent.session-conflict', 'owner c0ffee'],
  [
    'server unreachable at the start',
    'An error occurred: Connection refused (azure.example:443)\n',
    2,
    'agent.cannot-connect',
    'Connection refused (azure.example:443)',
  ],
  [
    'no name resolution in the container',
    'An error occurred: Resource temporarily unavailable (dev.azure.com:443)\n',
    2,
    'agent.cannot-connect',
  ],
  [
    'a certificate that is not trusted',
    'An error occurred: The SSL connection could not be established, see inner exception.\n',
    2,
    'agent.cannot-connect',
  ],
  [
    'server overloaded at the start',
    'An error occurred: Response status code does not indicate success: 503 (Service Unavailable).\n',
    2,
    'agent.cannot-connect',
  ],
  [
    'login refused at the start',
    'Error reported in diagnostic logs. Please examine the log for more details.\n    - /azp/_diag/Agent_20261121-020000-utc.log\nAn error occurred: The client is not registered.\n',
    2,
    'agent.login-refused',
    'The client is not registered.',
  ],
  [
    'not authorized',
    `${start}Failed to create session. VS30063: You are not authorized to access https://dev.azure.com.\n`,
    1,
    'agent.login-refused',
  ],
  [
    'clock skew at the start',
    'An error occurred: The token is not valid yet. Current server time is 11/21/2026 2:10:00 AM.\n',
    2,
    'agent.clock-skew',
    'Current server time is',
  ],
  [
    'clock skew later: retried up to 30 minutes',
    `${start}The local machine's clock may be out of sync with the server time by more than five minutes. Please sync your clock with your domain or internet time and try again.\n2026-11-21 02:00:01Z: Agent connect error: Current server time is 11/21/2026. Retrying until reconnected.\nStopped retrying OAuth token request exception after 1800 seconds.\nFailed to create session. Current server time is 11/21/2026.\n`,
    1,
    'agent.clock-skew',
  ],
  ['not configured', 'An error occurred: Not configured\n', 2, 'agent.not-configured'],
  ['not configured, reported by the agent', 'Agent is not configured.\n', 1, 'agent.not-configured'],
  [
    'not configured, reported by the entry point',
    'azp-fleet: .agent is missing: this container is started by azp-fleet-manager, which registers the agent\n',
    78,
    'agent.not-configured',
  ],
  [
    '.NET aborts: no ICU',
    "Process terminated. Couldn't find a valid ICU package installed on the system. Please install libicu (or icu-libs) using your package manager and try again.\n   at System.Environment.FailFast(System.String)\n",
    134,
    'agent.aborted',
    "Couldn't find a valid ICU package",
  ],
  [
    '.NET aborts with another message',
    'terminate called after throwing an instance of std::bad_alloc\n',
    134,
    'agent.aborted',
    'std::bad_alloc',
  ],
  ['an image without a shell', 'sh: not found\n', 127, 'run.failed', 'sh: not found'],
  ['an unknown error', 'An error occurred: Frobnicated\n', 2, 'agent.failed', 'Frobnicated'],
  ['deleted or revoked while idle: it exits without output', listening, 0, 'agent.deleted'],
  ['revoked while it connects', start, 0, 'agent.deleted'],
  [
    'deleted before it connects',
    `${start}The agent no longer exists on the server. Please reconfigure the agent.\nFailed to create session. No agent found with identifier 5.\n`,
    1,
    'agent.deleted',
  ],
  ['first renewal of the lock refused', running, 0, 'run.withdrawn'],
  ['SIGKILL while idle', listening, 137, 'agent.killed', 'SIGKILL'],
  ['SIGTERM while idle, v4 and v5', listening, 143, 'agent.killed', 'SIGTERM'],
  ['the machine went down', listening, 255, 'agent.killed'],
  ['SIGINT by another process while idle', `${listening}Exiting...\n`, 0, 'agent.stopped'],
  ['exit 3: the server wants a newer agent', listening, 3, 'image.outdated'],
  [
    'exit 4: a newer package exists',
    `${listening}Agent update in progress, do not shutdown agent.\nDownloading 5.280.0 agent\n`,
    4,
    'image.outdated',
  ],
  ['a container that lost its GPU', 'Failed to initialize NVML: Unknown Error\n', 1, 'gpu.lost-in-container'],
  [
    'another language (LANG=de_DE)',
    'Nach Toolfunktionen wird gesucht.\nVerbindung mit dem Server wird hergestellt.\n2026-11-21 02:00:00Z: Auf Aufträge lauschen\n',
    0,
    'agent.unreadable',
    'Auf Aufträge lauschen',
  ],
  ['another program', 'Hello!\n', 0, 'agent.unreadable', 'Hello!'],
];

/** Runs with a job: situation, console, exit code, result on the console, cause of a fault, part of its text. */
const withJob: readonly (readonly [string, string, Exit, string | undefined, string | undefined, string?])[] =
  [
    [
      'session lost while idle, created again: it takes a job',
      `${listening}${start}2026-11-21 02:09:00Z: Running job: x\n2026-11-21 02:09:09Z: Job x completed with result: Succeeded\n`,
      0,
      'succeeded',
      undefined,
    ],
    [
      'session lost with a job, not recovered: the job is canceled',
      `${completed('Canceled')}An error occurred: The session has expired.\n`,
      2,
      'canceled',
      'agent.session-lost',
    ],
    [
      'session lost with a job, created again',
      `${running}${start}2026-11-21 02:00:09Z: Job build (a) b completed with result: Succeeded\n`,
      0,
      'succeeded',
      undefined,
    ],
    [
      'server unreachable for a minute while idle, then a job',
      `${listening}2026-11-21 02:00:03Z: Agent connect error: Connection refused (azure.example:443). Retrying until reconnected.\n2026-11-21 02:01:03Z: Agent reconnected.\n2026-11-21 02:09:00Z: Running job: x\n2026-11-21 02:09:09Z: Job x completed with result: Succeeded\n`,
      0,
      'succeeded',
      undefined,
    ],
    [
      'server unreachable when the job ends',
      `${completed('Failed')}An error occurred: Connection refused (azure.example:443)\n`,
      2,
      'failed',
      'run.result-undelivered',
      'Connection refused',
    ],
    ['a job done', completed('Succeeded'), 0, 'succeeded', undefined],
    [
      'a job that failed, or whose worker was killed: the console is the same',
      completed('Failed'),
      0,
      'failed',
      undefined,
    ],
    ['abandoned on the server', completed('Abandoned'), 0, 'abandoned', 'run.abandoned'],
    ['killed in the middle of a job', running, 137, undefined, 'run.cut'],
    ['SIGTERM in the middle of a job, v5: the listener exits at once', running, 143, undefined, 'run.cut'],
    [
      'SIGTERM in the middle of a job, v4: it cancels the job first',
      completed('Canceled'),
      143,
      'canceled',
      undefined,
    ],
    [
      'SIGINT in the middle of a job, v4 and v5',
      `${running}Exiting...\n2026-11-21 02:00:09Z: Job build (a) b completed with result: Canceled\n`,
      0,
      'canceled',
      undefined,
    ],
    ['out of memory', running, '137, out of memory', undefined, 'run.out-of-memory'],
    [
      'out of memory, reported by the agent',
      completed('Failed'),
      '0, out of memory',
      'failed',
      'run.out-of-memory',
    ],
    [
      'out of memory, but the job succeeded',
      completed('Succeeded'),
      '0, out of memory',
      'succeeded',
      'run.out-of-memory',
      'the job succeeded',
    ],
    [
      'out of memory, and canceled afterwards',
      completed('Canceled'),
      '0, out of memory',
      'canceled',
      'run.out-of-memory',
      'the job was canceled',
    ],
    [
      'an update that fails: it continues and takes a job',
      `${listening}Agent update in progress, do not shutdown agent.\nDownloading 5.280.0 agent\n2026-11-21 02:09:00Z: Running job: x\n2026-11-21 02:09:09Z: Job x completed with result: Succeeded\n`,
      0,
      'succeeded',
      undefined,
    ],
  ];

function exitOf(exit: Exit): ContainerExit {
  const code = Number.parseInt(String(exit), 10);
  return { code, oomKilled: typeof exit === 'string', startedAt: '', finishedAt: '' };
}

export const consoleTable = [
  ...withoutJob.map(([situation, console, exit, code, words = '']) => ({
    situation,
    console,
    exit: exitOf(exit),
    ranJob: false,
    result: undefined,
    code,
    words,
  })),
  ...withJob.map(([situation, console, exit, result, code, words = '']) => ({
    situation,
    console,
    exit: exitOf(exit),
    ranJob: true,
    result,
    code,
    words,
  })),
];
