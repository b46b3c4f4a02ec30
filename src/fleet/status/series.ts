import { FleetError } from '../../shared/base/errors.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { createManagerClient } from '../client/manager-client.ts';
import type { Session } from '../ssh/transport.ts';

/** A value, or why it is unknown. A value may be null: the host has none. */
export type Known<T> = { readonly value: T } | { readonly unknown: string };

/** Utilization of a GPU in percent, equally spaced over 24 hours, the latest last; undefined: unknown. */
export type Series = readonly (number | undefined)[];

/** What a manager has recorded of its GPUs. */
export interface GpuHistory {
  /** By the UUIDs of GPUs. */
  readonly series: ReadonlyMap<string, Series>;
  /** Number of GPUs that are left out, for the size of the answer. */
  readonly omitted: number;
}

/** Hours of a series. */
const hours = 24;

/** Asks the manager of a host for the utilization of its GPUs. A manager without this call records none. */
export async function askSeries(
  session: Pick<Session, 'socketAgent'>,
  host: string,
): Promise<Known<GpuHistory>> {
  const agent = session.socketAgent(HostPaths.socket);
  try {
    const manager = createManagerClient(agent, host, { attempts: 1, anyRelease: true });
    const { gpus, omitted } = await manager.series(hours);
    const series = new Map(
      gpus.map(({ gpu, utilizationPercent }) => [gpu, utilizationPercent.map((value) => value ?? undefined)]),
    );
    return { value: { series, omitted } };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { code, what } = error.problem;
    return code === 'control.not-found' ? { value: { series: new Map(), omitted: 0 } } : { unknown: what };
  } finally {
    agent.destroy();
  }
}
