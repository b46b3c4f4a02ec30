/** What a reader takes at most of one source. */
export interface ReaderBound {
  /** The source, for docs/security.md. */
  readonly source: string;
  /** What happens with more. */
  readonly beyond: string;
}

/** What a JSON reader takes at most: the text's bytes, and in it values and levels, counted before it is parsed. */
export interface JsonBound {
  readonly bytes: number;
  readonly values: number;
}

const KiB = 1024;
const MiB = 1024 * KiB;

/** Levels of a JSON text that another program wrote, more than twice those of our own. */
export const deepestJson = 40;

/**
 * Every bound of what the manager, the client of Azure DevOps in both programs and `diagnose` read from outside. Their readers take the
 * numbers from here; test/unit/shared/base/reader-bounds.test.ts feeds each ten times as much, and docs/security.md lists them.
 */
export const readerBounds = {
  /** An agent has 100 to 500 capabilities, 5 KiB; the parsed text takes up to ten times its bytes. */
  azureAgent: {
    source: 'answer of Azure DevOps about agents that are named: this much for each',
    bytes: MiB,
    values: 10_000,
    beyond: 'the slot of that agent waits with `agent.too-long`; the others continue',
  },
  /** The unit has 96 MiB of heap. */
  azureOfManager: {
    source: 'any answer of Azure DevOps to the manager',
    bytes: 6 * MiB,
    values: 60_000,
    beyond: 'the call fails with `azure.too-long`; agents are then read one by one',
  },
  /** 10,000 agents with all details have 53 MiB. */
  azureOfCli: {
    source: 'any answer of Azure DevOps to the CLI',
    bytes: 64 * MiB,
    values: 5_000_000,
    beyond: 'the call fails with `azure.too-long`',
  },
  entraToken: {
    source: "answer of Microsoft Entra ID, of a VM's metadata service, or of Azure Arc's agent",
    bytes: MiB,
    values: 1000,
    beyond: 'the call fails with `azure.unreachable`',
  },
  /** A page of the list of tokens; a token has 500 bytes. */
  azAnswer: {
    source: 'answer of `az rest` to `token rotate --mint`',
    bytes: MiB,
    values: 10_000,
    beyond: 'the command fails with `azure.az-failed`',
  },
  arcKey: {
    source: "key file of Azure Arc's agent",
    bytes: 4 * KiB,
    beyond: 'the login fails with `azure.auth`',
  },
  webhookRefusal: {
    source: 'refusal of the webhook',
    bytes: 2 * KiB,
    beyond: 'the rest is not read',
  },
  agentArchive: {
    source: 'download of an agent archive',
    bytes: 1024 * MiB,
    beyond: 'the download fails with `host-mode.no-agent`',
  },
  controlSocket: {
    source: 'control socket: body of a request',
    bytes: 64 * KiB,
    connections: 64,
    headerBytes: 16 * KiB,
    requestMs: 10_000,
    beyond: '`control.bad-request`, or the connection closes',
  },
  metricsPort: {
    source: 'metrics port: a request',
    connections: 16,
    headerBytes: 4 * KiB,
    requestMs: 5_000,
    beyond: 'the connection closes',
  },
  /** nvidia-smi -q -x prints 600 KiB for eight GPUs. */
  containerOutput: {
    source: 'output of a container that is read at once',
    bytes: 8 * MiB,
    beyond: 'the last 8 MiB count',
  },
  hostRunOutput: {
    source: 'output of a run with `mode: host`',
    bytes: 2 * MiB,
    beyond: 'the last 2 MiB count',
  },
  /** No agent writes half as much in a line. */
  line: {
    source: 'line of an agent, or of the kernel log, that is followed',
    characters: 4 * KiB,
    beyond: 'the rest of the line is dropped',
  },
  /** A thousand containers have 5 MiB. */
  engineAnswer: {
    source: 'answer of Docker that is read at once',
    bytes: 16 * MiB,
    beyond: 'the call fails with `engine.failed`',
  },
  engineMessage: {
    source: 'event of Docker, or step of a build',
    characters: MiB,
    beyond: 'the rest of the line is dropped',
  },
  containerFile: {
    source: 'file that is read from a container',
    bytes: MiB,
    beyond: '`engine.file-too-large`',
  },
  programOutput: {
    source: 'output of a program of the host: nvidia-smi, dmesg, systemctl',
    bytes: 16 * MiB,
    beyond: 'the end is dropped, and the output counts as incomplete',
  },
  tokenFile: {
    source: 'file of the token',
    bytes: 64 * KiB,
    beyond: 'the file counts as empty: `azure.auth`',
  },
  /** Registries take no longer ones. */
  imageManifest: {
    source: 'manifest of an image from a bundle',
    bytes: 4 * MiB,
    beyond: 'the image counts as not in the bundle',
  },
  /** Any process can hold locks; the list has 60 bytes for each. */
  kernelLocks: {
    source: '/proc/locks',
    bytes: 16 * MiB,
    beyond: "the host's lock counts as held",
  },
  /** Any user can make an inhibitor; its reason has any length. */
  loginFile: {
    source: "systemd's file about a session or an inhibitor",
    bytes: 64 * KiB,
    beyond: 'the rest is not read',
  },
  /** The default one has 10 KiB. */
  containerdConfig: {
    source: "containerd's configuration",
    bytes: 64 * KiB,
    beyond: 'the rest is not read',
  },
  /** nvidia-bug-report.sh writes 1 to 30 MiB, more on a host with many GPUs and a long journal. */
  savedOutput: {
    source: 'file of `diagnose`, unpacked',
    bytes: 256 * MiB,
    beyond: 'the rest is not read: `diagnose.incomplete`',
  },
  savedLine: {
    source: 'line of a file of `diagnose`',
    characters: 64 * KiB,
    beyond: 'the rest of the line is dropped',
  },
  savedSmi: {
    source: 'output of nvidia-smi in a file of `diagnose`',
    characters: 16 * MiB,
    beyond: 'the end is dropped, and the output counts as incomplete',
  },
  /** 16 GPUs take a thousand bytes a minute. */
  historyFile: {
    source: "the manager's history, read in slices: twice this much",
    bytes: 4 * MiB,
    beyond: 'the beginning is not read',
  },
  historyLine: {
    source: "line of the manager's history",
    bytes: 16 * KiB,
    beyond: 'the line is skipped',
  },
  ownFile: {
    source: 'file in /etc/azp-fleet, /run/azp-fleet or /var/lib/azp-fleet',
    bytes: 16 * MiB,
    beyond: 'the file counts as damaged',
  },
} as const satisfies Readonly<Record<string, ReaderBound & Readonly<Record<string, unknown>>>>;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const opening = new Set([0x5b, 0x7b]);
const closing = new Set([0x5d, 0x7d]);

/**
 * Returns what a JSON text has too much of: `more than 10000 values`. Undefined: nothing. It counts commas and brackets outside
 * of strings, which is at least the number of values in the outermost one, and creates none. Pure.
 */
export function excessIn(text: string, most: number, deepest = deepestJson): string | undefined {
  // No list and no object: a page, which has any number of commas.
  if (!/^\s*[[{]/u.test(text)) return undefined;
  let [values, level] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === quote) at = endOfString(text, at);
    else if (unit === comma) values += 1;
    else if (closing.has(unit)) level -= 1;
    else if (opening.has(unit)) {
      values += 1;
      level += 1;
    }
    if (values > most) return `more than ${most} values`;
    if (level > deepest) return `more than ${deepest} levels`;
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
