import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { generateAgentKey, type AgentKey } from '../../../../src/shared/azure/keys.ts';
import { Front } from '../../../support/agent/front.ts';
import {
  installRegistered,
  startListener,
  type AgentProgram,
  type InstalledAgent,
} from '../../../support/agent/program.ts';
import { newAgent, useFake, type Fixture } from '../../practice/azure/server.ts';

export type Line = 4 | 5;
export const versions: Readonly<Record<Line, string>> = { 4: '4.275.0', 5: '5.279.0' };
/** Observed in November 2026, with listener and worker built from the source of 5.278.0, against a practice server. */
const sources: Readonly<Record<Line, string>> = { 4: 'run on .NET 8', 5: 'run on .NET 10' };
/** A limit for what hangs. */
export const timeoutMs = 180_000;

export interface Scene {
  readonly agent: InstalledAgent;
  readonly listener: AgentProgram;
}

/** One case: a situation and what the agent does. */
export interface Behaviour {
  /** Overrides keys of `.agent`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** It has its own process group. */
  readonly detached?: boolean;
  /** Before the listener starts. */
  readonly before?: (agent: InstalledAgent) => Promise<unknown>;
  /** When it listens; absent: the listener ends by itself. */
  readonly act?: (scene: Scene) => Promise<unknown>;
  /** Its output; times are TIME, the server's address PLACE, the agent's name NAME. */
  readonly console: readonly string[];
  readonly ends: number | NodeJS.Signals;
  /** True if the server still has it afterwards. */
  readonly session?: 'stays';
  readonly after?: (scene: Scene) => Promise<unknown>;
}

export interface Row extends Behaviour {
  readonly situation: string;
  readonly line: Line;
  readonly source: string;
}

export function row(line: Line, situation: string, behaviour: Behaviour): Row {
  return { situation, line, source: sources[line], ...behaviour };
}

export const scanning: readonly string[] = ['Scanning for tool capabilities.', 'Connecting to the server.'];
export const listening: readonly string[] = [...scanning, 'TIME: Listening for Jobs'];

/** Runs the agents of a test file against a server behind a proxy. */
export interface Agents {
  readonly fake: Fixture;
  readonly front: Front;
  install(
    name: string,
    version: string,
    settings?: Readonly<Record<string, unknown>>,
  ): Promise<InstalledAgent>;
  isOnline(name: string): Promise<boolean>;
  online(name: string): Promise<void>;
  /** Waits until so many polls are running whose URL contains this text. */
  polling(count: number, part?: string): Promise<void>;
  play(row: Row, name: string): Promise<void>;
}

export function useAgents(speed: number): Agents {
  const fake = useFake(speed);
  let front: Front | undefined;
  let key: Promise<AgentKey> | undefined;
  beforeAll(async () => {
    front = await Front.before(fake.server.origin);
  });
  afterAll(() => front?.goAway());
  const agents: Agents = {
    fake,
    get front() {
      if (front === undefined) throw new Error('not started yet');
      return front;
    },
    install: async (name, version, settings) => {
      const folder = join(fake.folder, name);
      mkdirSync(folder);
      const organization = `${agents.front.origin}/lab`;
      key ??= generateAgentKey();
      const own = await key;
      const options = { folder, version, key: own, ...(settings === undefined ? {} : { settings }) };
      return installRegistered(fake.client({ organization }), organization, newAgent(name, own), options);
    },
    isOnline: async (name) => {
      const { pools } = await fake.control.overview();
      return pools
        .flatMap((pool) => pool.agents)
        .some((agent) => agent.name === name && agent.status === 'online');
    },
    online: (name) =>
      vi.waitFor(async () => expect(await agents.isOnline(name)).toBe(true), { timeout: timeoutMs }),
    polling: (count, part = '') =>
      vi.waitFor(
        () => {
          const polls = agents.front.sent.filter(
            ({ url }) => url.includes('/messages?') && url.includes(part),
          );
          expect(polls.filter(({ status }) => status === undefined).length).toBeGreaterThanOrEqual(count);
        },
        { timeout: timeoutMs, interval: 5 },
      ),
    play: async ({ line, settings, detached = false, before, act, after, ...expected }, name) => {
      const agent = await agents.install(name, versions[line], settings);
      await before?.(agent);
      agents.front.sent.length = 0;
      const listener = startListener(agent.folder, { detached });
      try {
        if (act !== undefined) {
          await expect.poll(() => listener.console().at(-1), { timeout: timeoutMs }).toContain('Listening');
          await act({ agent, listener });
        }
        expect(await listener.exited).toBe(expected.ends);
        const place = agents.front.origin.replace('http://', '');
        const words = (text: string): string => text.replaceAll('PLACE', place).replaceAll('NAME', name);
        expect(listener.console()).toEqual(expected.console.map(words));
        expect(await agents.isOnline(name)).toBe(expected.session === 'stays');
      } finally {
        // Restores for the next case what this one removed.
        listener.child.kill('SIGKILL');
        await after?.({ agent, listener });
      }
    },
  };
  return agents;
}
