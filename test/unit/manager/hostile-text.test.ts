// Hostile text from jobs, containers, dockerd, registries, the kernel, other users and webhook receivers, in each output of
// the manager: status, runs, runStore, metrics, webhook, journal, the pool, and the terminal of a client on the host.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { generateAgentKey } from '../../../src/shared/azure/keys.ts';
import { FleetError } from '../../../src/shared/base/errors.ts';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { runClient } from '../../../src/manager/start/client-commands.ts';
import { journalLogger } from '../../../src/manager/start/reporting.ts';
import { controls, evil, words } from '../../support/hostile-words.ts';
import { freePort } from '../../support/ssh-port.ts';
import { failed, ManagerRig, printed } from '../../support/manager-rig.ts';
import { newAgent } from '../practice/azure/server.ts';

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const [gpu = ''] = [...healthy.matchAll(/<uuid>(GPU-[^<]+)</g)].map(([, uuid = '']) => uuid);

let rig: ManagerRig;
let receiver: Server;
let got: string[];
let metricsPort: number;
/** Error texts of the webhook's receiver, and of its path /lab, which stands for another organization. */
let answer: string;
let serverAnswer: string;
beforeEach(async () => {
  rig = await ManagerRig.create();
  got = [];
  metricsPort = await freePort();
  answer = '';
  serverAnswer = '';
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      got.push(body);
      const error = request.url?.startsWith('/lab') === true ? serverAnswer : answer;
      response.writeHead(error === '' ? 200 : 400).end(error);
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(rig.directory, 'webhook'), `${receiverUrl()}\n`);
});
afterEach(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await rig.close();
});

const receiverUrl = (): string => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;

interface Source {
  readonly config?: Partial<ManagerConfig> | (() => Partial<ManagerConfig>);
  /** Before the manager starts. */
  readonly set?: () => unknown;
  /** Runs after the start. */
  readonly act?: () => Promise<unknown>;
  /** Shows that the manager has received the text, where it does not show all of it. */
  readonly sign?: RegExp;
}

function twoGpus(): void {
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  rig.programs.set('sh', printed(healthy));
  rig.programs.set('dmesg', printed(''));
}

const sources: Readonly<Record<string, Source>> = {
  'the name of a job, and its output': {
    act: async () => {
      await rig.until('idle');
      rig.docker.say('box-0', evil);
      rig.beginJob('box-0', evil);
      await rig.until('busy', ['0']);
      rig.docker.say('box-0', `2026-11-21 02:00:02Z: Job ${evil} completed with result: Failed`);
      rig.docker.say('box-0', evil);
      rig.docker.end('box-0', 1);
    },
  },
  'the error of an agent that cannot connect': {
    set: () => {
      rig.docker.onStart = ({ id }) => {
        rig.docker.say(id, `2026-11-21 02:00:00Z: Agent connect error: ${evil}. Retrying until reconnected.`);
        rig.docker.say(id, `An error occurred: ${evil}`);
        rig.docker.end(id, 1);
      };
    },
  },
  'Docker that fails to create a container': {
    set: () => rig.docker.fail(/containers\/create/, 500, evil, 50),
  },
  'Docker that fails to start a container': { set: () => rig.docker.fail(/start$/, 500, evil, 50) },
  'Docker that fails to return the output of a run': {
    act: async () => {
      await rig.until('idle');
      rig.docker.fail(/logs/, 500, evil, 50);
      rig.endJob('box-0');
    },
  },
  'a registry': {
    config: { image: { kind: 'registry', reference: 'registry.example/other:1' } },
    set: () => rig.docker.fail(/images\/create/, 500, evil, 50),
  },
  'the kernel': {
    sign: /XID 79 in the kernel log/,
    set: twoGpus,
    act: async () => {
      await rig.until('idle');
      rig.kernelSays(`[ 12.000001] NVRM: Xid (PCI:0000:84:00): 79, pid=1, ${evil}`);
    },
  },
  'nvidia-smi': {
    sign: /smi\.|driver\./,
    set: () => {
      twoGpus();
      rig.programs.set('sh', failed(9, `NVIDIA-SMI has failed: ${evil}`));
    },
  },
  'names of GPUs': {
    set: () => {
      twoGpus();
      const productName = evil.replaceAll(/[<>&]/g, '');
      rig.programs.set('sh', printed(healthy.replaceAll(/(<product_name>)[^<]*/g, `$1${productName}`)));
    },
  },
  'another process on a GPU': {
    set: () => {
      twoGpus();
      rig.programs.set('nvidia-smi', (args) =>
        printed(
          (args[0] ?? '').startsWith('--query-compute-apps')
            ? `${gpu}, 4121, 15974\n`
            : `${gpu}, 15974, Disabled\n`,
        ),
      );
      rig.programs.set('head', printed(`${evil}\0${evil}\0`));
      rig.programs.set('getent', printed(`${evil.replaceAll(/[:\n]/g, '')}:x:1000:1000::/home/a:/bin/sh\n`));
      rig.hostPrograms.processes.set(4121, {
        pid: 4121,
        parent: 1,
        uid: 1000,
        comm: evil,
        state: 'S',
        startTicks: 8_121,
        startedAt: Date.now(),
        cgroups: [`/user.slice/user-1000.slice/${evil}`],
      });
    },
  },
  'the owner and reason of a drain': {
    act: () => rig.post('/v1/drain', { reason: evil, owner: evil, run: evil }),
  },
  "another owner of an agent's name": {
    sign: /agent\.name-held/,
    set: async () =>
      rig.azure.createAgent(rig.poolId, {
        ...newAgent('box-0', await generateAgentKey()),
        userCapabilities: { 'azp-fleet.owner': evil, 'azp-fleet.host': evil },
      }),
  },
  'an error of Azure DevOps': {
    sign: /azure\.[a-z]/,
    config: () => ({ organization: `${receiverUrl()}lab` }),
    set: () => (serverAnswer = JSON.stringify({ message: evil, typeKey: evil, [evil]: evil })),
  },
  'a server that is not Azure DevOps': {
    sign: /azure\.[a-z]/,
    config: () => ({ organization: `${receiverUrl()}lab` }),
    set: () => (serverAnswer = `<html>${evil}</html>`),
  },
  'a failed image build': {
    config: {
      image: {
        kind: 'build',
        base: 'ubuntu:24.04',
        agentVersion: '5.300.0',
        agentSha256: '',
        agentUrl: 'https://downloads.example/vsts-agent-linux-x64-5.300.0.tar.gz',
      },
    },
    set: () =>
      (rig.docker.failedBuild = [
        { stream: `${evil}\n` },
        { stream: `\u001b[2K\r${evil}` },
        { error: evil, errorDetail: { message: evil } },
      ]),
  },
  'a change in progress on the host': {
    sign: /drain\.at-work/,
    act: async () => {
      await rig.post('/v1/drain', { reason: evil, owner: evil, run: evil });
      const folder = join(rig.directory, 'changes/driver-1');
      mkdirSync(folder, { recursive: true });
      for (const name of ['title', 'owner', 'since']) writeFileSync(join(folder, name), evil);
      rig.programs.set('systemctl', printed(evil));
      return rig.post('/v1/undrain', {});
    },
  },
  "the webhook's receiver": {
    sign: /HTTP 400|said /,
    config: { webhook: { offlineS: 600, queueWaitS: 1800 } },
    set: () => (answer = evil),
    act: () => rig.post('/v1/webhook', {}),
  },
};

/** Reads a file; a temporary file may have been renamed since it was listed. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Returns all outputs of the manager, by name. */
async function outputs(refused: string): Promise<Readonly<Record<string, string>>> {
  const read = (path: string): Promise<string> => ask(rig.socket, { method: 'GET', path });
  const journal: string[] = [];
  const log = journalLogger((line) => journal.push(line), true);
  for (const { level, message, fields } of rig.logged)
    log.log(level, message, fields as Record<string, unknown>);
  const client = (command: string, ...positionals: string[]): Promise<string> =>
    runClient({ command, positionals, values: {} }, rig.socket, true).catch((error: unknown) =>
      error instanceof FleetError ? JSON.stringify(error.problem) : String(error),
    );
  const kept = globSync(join(rig.directory, 'state/**/*'), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => textOf(join(entry.parentPath, entry.name)));
  return {
    'the status': await read('/v1/status'),
    'its file': readFileSync(join(rig.directory, 'status.json'), 'utf8'),
    'the runs': await read('/v1/runs'),
    'what is kept of them': kept.join('\n'),
    'the metrics': await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    messages: got.join('\n'),
    'the journal': journal.join(''),
    'the pool': JSON.stringify(await rig.azure.listAgents(rig.poolId)),
    'a refusal': refused,
    'the terminal': [await client('status'), await client('runs'), await client('logs', '0')].join('\n'),
  };
}

test.each(Object.entries(sources))('%s', async (_, { config = {}, set, act, sign = words }) => {
  await set?.();
  const own = typeof config === 'function' ? config() : config;
  await rig.start({ metricsPort, webhook: { offlineS: 1, queueWaitS: 1800 }, ...own });
  const isUp = () =>
    rig.status().then(
      () => true,
      () => false,
    );
  await expect.poll(isUp).toBe(true);
  const refused = await (act?.() ?? Promise.resolve('')).then(
    () => '',
    (error: unknown) => (error instanceof FleetError ? JSON.stringify(error.problem) : String(error)),
  );
  await expect
    .poll(async () =>
      Object.values(await outputs(refused))
        .join('\n')
        .replaceAll('\\n', ' '),
    )
    .toMatch(sign);
  for (const [place, text] of Object.entries(await outputs(refused))) {
    expect({ [place]: controls(text) }).toEqual({ [place]: [] });
    expect({ [place]: /HIDDEN|\\u(?:00[01789]|20[26]|feff)/.exec(text)?.[0] }).toEqual({
      [place]: undefined,
    });
  }
});
