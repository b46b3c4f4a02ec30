import { asRead, beforeWrite, nextId, type Fake } from '../world/fake.ts';
import { accessDenied, empty, list, ok, refusal, textOf, type Route } from '../http/reply.ts';
import type { FakePool } from '../world/state.ts';

export function poolMissing(id: string | number) {
  return refusal(404, 'TaskAgentPoolNotFoundException', `No agent pool found with identifier ${id}.`);
}

const key = (pool: { id: number }) => `pool ${pool.id}`;
const visible = (fake: Fake) =>
  fake.state.pools.map((pool) => asRead(fake, key(pool), pool)).filter((pool) => pool !== undefined);

function describe(fake: Fake, pool: FakePool) {
  const size = fake.state.agents.filter(({ poolId }) => poolId === pool.id).length;
  return { ...pool, size, autoSize: true, poolType: 'automation', isLegacy: false, options: 'none' };
}

export const poolRoutes: readonly Route[] = [
  [
    'GET',
    /^\/_apis\/distributedtask\/pools$/u,
    ({ fake, query }) => {
      const name = query.get('poolName')?.toLowerCase();
      const ids = query.get('poolIds')?.split(',').map(Number);
      const found = visible(fake).filter(
        (pool) =>
          (name === undefined || pool.name.toLowerCase() === name) &&
          (ids === undefined || ids.includes(pool.id)),
      );
      return list(found.map((pool) => describe(fake, pool)));
    },
  ],
  [
    'POST',
    /^\/_apis\/distributedtask\/pools$/u,
    ({ fake, body }) => {
      if (fake.denied.has('pools.create')) return accessDenied('Create permissions for agent pools');
      const name = textOf(body, 'name');
      if (fake.state.pools.some((pool) => pool.name.toLowerCase() === name.toLowerCase())) {
        return refusal(409, 'TaskAgentPoolExistsException', `Agent pool ${name} already exists.`);
      }
      const pool: FakePool = {
        id: nextId(fake),
        name,
        autoProvision: body['autoProvision'] === true,
        // The service ignores autoUpdate here; only PATCH sets it.
        autoUpdate: true,
        isHosted: false,
        createdOn: new Date(fake.now()).toISOString(),
      };
      beforeWrite(fake, key(pool), undefined);
      fake.state.pools.push(pool);
      fake.changed();
      return ok(describe(fake, pool));
    },
  ],
  [
    'GET',
    /^\/_apis\/distributedtask\/pools\/(\d+)$/u,
    ({ fake }, id = '') => {
      const pool = visible(fake).find((candidate) => candidate.id === Number(id));
      return pool === undefined ? poolMissing(id) : ok(describe(fake, pool));
    },
  ],
  [
    'PATCH',
    /^\/_apis\/distributedtask\/pools\/(\d+)$/u,
    ({ fake, body }, id = '') => {
      if (fake.denied.has('pools.manage')) return accessDenied(`Manage permissions for pool ${id}`);
      const pool = fake.state.pools.find((candidate) => candidate.id === Number(id));
      if (pool === undefined) return poolMissing(id);
      beforeWrite(fake, key(pool), pool);
      if (typeof body['autoUpdate'] === 'boolean') pool.autoUpdate = body['autoUpdate'];
      if (typeof body['autoProvision'] === 'boolean') pool.autoProvision = body['autoProvision'];
      if (typeof body['name'] === 'string') pool.name = body['name'];
      fake.changed();
      return ok(describe(fake, pool));
    },
  ],
  [
    'DELETE',
    /^\/_apis\/distributedtask\/pools\/(\d+)$/u,
    ({ fake }, id = '') => {
      if (fake.denied.has('pools.manage')) return accessDenied(`Manage permissions for pool ${id}`);
      fake.state.pools = fake.state.pools.filter((pool) => pool.id !== Number(id));
      fake.state.agents = fake.state.agents.filter(({ poolId }) => poolId !== Number(id));
      fake.changed();
      return empty;
    },
  ],
];
