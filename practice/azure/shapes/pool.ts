import type { Fake } from '../world/fake.ts';
import { admin, service } from '../world/identities.ts';
import { poolSize } from '../world/agent-index.ts';
import type { FakePool } from '../world/state.ts';
import { describeIdentity } from './identity.ts';
import { chosenProperties } from './properties.ts';

/** A pool as queues show theirs. */
export function describePoolReference(fake: Fake, pool: FakePool) {
  return {
    id: pool.id,
    scope: fake.state.collectionId,
    name: pool.name,
    isHosted: pool.isHosted,
    poolType: pool.poolType,
    size: poolSize(fake.state, pool.id),
    isLegacy: pool.isLegacy,
    options: 'none',
  };
}

/** A pool in a list. Members and their order as recorded; `properties` only where a filter asks for them. */
export function describePool(fake: Fake, baseUrl: string, pool: FakePool, filters?: readonly string[]) {
  const owner = describeIdentity(baseUrl, pool.builtIn ? service : admin);
  return {
    createdOn: pool.createdOn,
    autoProvision: pool.autoProvision,
    autoUpdate: pool.autoUpdate,
    autoSize: true as boolean | null,
    targetSize: pool.targetSize,
    agentCloudId: pool.agentCloudId,
    createdBy: owner,
    owner,
    ...chosenProperties(pool.properties, filters),
    ...describePoolReference(fake, pool),
  };
}

/** A pool that is asked for by its id: recorded with autoSize null, where the list beside it had true. */
export function describeOnePool(fake: Fake, baseUrl: string, pool: FakePool, filters?: readonly string[]) {
  return { ...describePool(fake, baseUrl, pool, filters), autoSize: null };
}
