import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/shared/base/clock.ts';
import { FleetError, type Problem } from '../../src/shared/base/errors.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { Secret } from '../../src/shared/base/secret.ts';
import { defaultUploads } from '../../src/fleet/inventory/schema/defaults.ts';
import type { SshSpec } from '../../src/fleet/inventory/fleet.ts';
import type { Question } from '../../src/fleet/ssh/questions.ts';
import { type TransportParts, createTransport } from '../../src/fleet/ssh/create-transport.ts';
import type { Target, Transport } from '../../src/fleet/ssh/transport.ts';

export interface TestTransport extends Transport {
  /** A separate home folder; known_hosts is `${home}/.ssh/known_hosts`. */
  readonly home: string;
  readonly notices: string[];
  readonly questions: Question[];
}

/** Creates the real transport with a separate home. Secrets `{ env: TEXT }` resolve to TEXT itself. */
export function testTransport(
  options: {
    /** Text of ~/.ssh/config. */
    readonly config?: string;
    readonly env?: Record<string, string>;
    /** Answers questions; undefined: no terminal. */
    readonly answer?: (question: Question) => string | Promise<string>;
    /** The hosts of the inventory. */
    readonly hosts?: readonly Target[];
  } & Partial<Pick<TransportParts, 'log' | 'uploads'>> = {},
): TestTransport {
  const home = mkdtempSync(join(tmpdir(), 'azp-home-'));
  const config = join(home, 'config');
  mkdirSync(join(home, '.ssh'));
  // The system's ssh takes the home folder from passwd: without this it would write to the real one.
  writeFileSync(config, `${options.config ?? ''}\nHost *\n  UserKnownHostsFile ${home}/.ssh/known_hosts\n`);
  const notices: string[] = [];
  const questions: Question[] = [];
  const { answer, hosts = [] } = options;
  const configured = ({ name, ssh }: Target): Target => ({ name, ssh: { sshConfig: config, ...ssh } });
  const transport = createTransport({
    home,
    user: 'root',
    env: { PATH: '/usr/bin:/bin', ...options.env },
    log: options.log ?? silentLogger,
    clock: systemClock(1),
    ask:
      answer === undefined
        ? undefined
        : async (question) => {
            questions.push(question);
            return new Secret(await answer(question));
          },
    resolveSecret: (source) => Promise.resolve(new Secret('env' in source ? source.env : '')),
    notice: (line) => notices.push(line),
    uploads: options.uploads ?? defaultUploads,
    hosts: hosts.map(configured),
  });
  return {
    home,
    notices,
    questions,
    connect: (target, parts) => transport.connect(configured(target), parts),
    close: () => transport.close(),
  };
}

export function sshSpec(spec: Partial<SshSpec>): SshSpec {
  return { transport: 'builtin', hostKeys: [], hostKeyPolicy: 'accept-new', ...spec };
}

/** Returns the problem that a promise rejects with. */
export async function problemOf(promise: Promise<unknown>): Promise<Problem> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof FleetError) return error.problem;
    throw error;
  }
  throw new Error('it did not fail');
}
