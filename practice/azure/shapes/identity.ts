import type { FakeIdentity } from '../world/identities.ts';

/** A reference to somebody, with the members that were recorded. */
export function describeIdentity(baseUrl: string, who: FakeIdentity) {
  const avatar = `${baseUrl}/_apis/GraphProfile/MemberAvatars/${who.descriptor}`;
  return {
    displayName: who.displayName,
    url: `${baseUrl}/_apis/Identities/${who.id}`,
    _links: { avatar: { href: avatar } },
    id: who.id,
    uniqueName: who.uniqueName,
    imageUrl: avatar,
    descriptor: who.descriptor,
  };
}
