import { parameter } from '../http/query.ts';
import { list, ok, refusal, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { describePackage } from '../shapes/package.ts';
import { agentPackages } from '../world/packages.ts';

/** Newest first, one platform unless it is not named; there are packages of one type. */
function find({ query }: FakeCall, type: string, platform = parameter(query, 'platform')): Reply {
  const top = Number(parameter(query, '$top') ?? Infinity);
  const found = type.toLowerCase() === 'agent' ? agentPackages(platform) : [];
  return list(found.slice(0, top).map((each) => describePackage(each)));
}

function findOne(type: string, platform: string, version: string): Reply {
  const found = agentPackages(platform).find((each) => each.version === version);
  return found === undefined || type.toLowerCase() !== 'agent'
    ? refusal(
        404,
        'PackageNotFoundException',
        `No package ${type} ${version} found for platform ${platform}.`,
      )
    : ok(describePackage(found));
}

/** The same for clients and agents. */
export const packageRoutes: readonly Route[] = [
  ['GET', /^\/_apis\/distributedtask\/packages\/([^/]+)$/iu, (call, type = '') => find(call, type)],
  [
    'GET',
    /^\/_apis\/distributedtask\/packages\/([^/]+)\/([^/]+)$/iu,
    (call, type = '', platform = '') => find(call, type, platform),
  ],
  [
    'GET',
    /^\/_apis\/distributedtask\/packages\/([^/]+)\/([^/]+)\/([^/]+)$/iu,
    (_call, type = '', platform = '', version = '') => findOne(type, platform, version),
  ],
];
