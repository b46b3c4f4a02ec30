import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import type { FakeQueue } from '../world/state.ts';
import { describeIdentity } from './identity.ts';
import { describePoolReference } from './pool.ts';

/** A queue, its pool in full. The pool of an old queue may be gone. */
export function describeQueue(fake: Fake, queue: FakeQueue) {
  const pool = fake.state.pools.find(({ id }) => id === queue.poolId);
  return {
    id: queue.id,
    projectId: queue.project,
    name: queue.name,
    ...(pool === undefined ? {} : { pool: describePoolReference(fake, pool) }),
  };
}

/** Which pipelines may use a queue, and who permitted it when. */
export function describePermissions(baseUrl: string, { id, openSince, pipelines }: FakeQueue) {
  const permitted = (authorizedOn: string) => ({
    authorized: true,
    authorizedBy: describeIdentity(baseUrl, admin),
    authorizedOn,
  });
  return {
    resource: { type: 'queue', id: String(id) },
    ...(openSince === undefined ? {} : { allPipelines: permitted(openSince) }),
    pipelines: pipelines.map((each) => ({ id: each.id, ...permitted(each.authorizedOn) })),
  };
}
