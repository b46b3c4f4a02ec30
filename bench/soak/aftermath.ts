import type { FakeControl, FakeJob } from '../../practice/azure/control/control.ts';
import { HostPaths, Labels } from '../../src/shared/contract/paths.ts';
import type { LabHost } from '../../practice/lab/host.ts';
import { until } from '../../practice/lab/run.ts';
import { forms, placesOnHost } from '../../test/lab/support/secret-search.ts';
import { forksLeft } from './attackers.ts';
import { statusOf } from './hosts.ts';

/**
 * Returns our containers that are not the running agent of a slot, and what jobs left forking. Waits a while for changes and
 * GPU checks.
 */
export async function leftOver(hosts: readonly LabHost[]): Promise<readonly string[]> {
  const found = await Promise.all(
    hosts.map(async (host) => {
      let surplus: readonly string[] = [];
      await until(`${host.name} to be tidy`, async () => (surplus = await surplusOf(host)).length === 0, {
        timeoutMs: 60_000,
        everyMs: 1000,
      }).catch(() => undefined);
      return surplus.map((each) => `${host.name}: ${each}`);
    }),
  );
  return found.flat();
}

async function surplusOf(host: LabHost): Promise<readonly string[]> {
  const format = `{{.Label "${Labels.kind}"}} {{.Label "${Labels.slot}"}} {{.State}} {{.Names}}`;
  const { stdout } = await host.exec(`docker ps -a --filter label=${Labels.kind} --format '${format}'`);
  const forks = (await host.exec(forksLeft, { allowFailure: true })).stdout.split('\n').filter(Boolean);
  const slots = new Set((await statusOf(host))?.slots.map(({ slot }) => `agent ${slot} running`));
  const lines = stdout.split('\n').filter((line) => line !== '');
  const containers = lines.filter((line) => !slots.delete(line.split(' ').slice(0, 3).join(' ')));
  return [...containers, ...(forks.length === 0 ? [] : [`${forks.length} forking processes`])];
}

/** Returns the reasons for which managers ended by themselves, `HOST: reasons`. */
export async function crashes(hosts: readonly LabHost[]): Promise<readonly string[]> {
  const file = `${HostPaths.state}/crashes`;
  const found = await Promise.all(
    hosts.map(async (host) => {
      const { stdout } = await host.exec(`cat ${file} ${file}.json`, { allowFailure: true });
      return stdout === '' ? [] : [`${host.name}: ${stdout.trim()}`];
    }),
  );
  return found.flat();
}

/** Counts refused sessions of agents whose name already had one. */
export async function sessionConflicts(control: FakeControl, since: number): Promise<number> {
  const requests = await control.requests();
  return requests.filter(
    ({ method, path, status, at }) =>
      method === 'POST' && path.endsWith('/sessions') && status === 409 && Date.parse(at) >= since,
  ).length;
}

/** Searches for the token outside its root-only files: on the hosts, and in everything that jobs could read and print. */
export async function tokenPlaces(
  hosts: readonly LabHost[],
  token: string,
  jobs: readonly FakeJob[],
): Promise<readonly string[]> {
  const allowed =
    /^file (?:\/etc\/azp-fleet\/token|\/run\/credentials\/azp-fleet-manager\.service\/token) [46]00 root$/u;
  const places: string[] = [];
  for (const host of hosts) {
    const found = (await placesOnHost(host, token)).filter((place) => !allowed.test(place));
    places.push(...found.map((place) => `${host.name}: ${place}`));
  }
  const needles = forms(token);
  const seen = jobs.filter(({ log }) => needles.some((needle) => log.includes(needle)));
  return [...places, ...seen.map(({ name }) => `log of ${name}`)];
}
