import { badRequest } from './arguments.ts';
import { namesOf, parameter } from './query.ts';
import type { Reply } from './reply.ts';

const truths = [
  'includeCapabilities',
  'includeAssignedRequest',
  'includeLastCompletedRequest',
  'includeRunningRequests',
  'includeRecords',
  'authorizePipelines',
  'poolIsHosted',
];
const ids = ['poolId', 'poolIds', 'queueIds', 'agentId', 'agentIds'];
const counts = ['$top', '$skip'];

/** Undefined: what a query has where truths and numbers belong is that, whatever resource it asks. */
export function queryRefusal(query: URLSearchParams): Reply | undefined {
  const wrong =
    truths.some((name) => !/^(?:true|false)$/iu.test(parameter(query, name) ?? 'true')) ||
    ids.some((name) => !(namesOf(query, name) ?? []).every((id) => /^-?\d+$/u.test(id))) ||
    counts.some((name) => !/^\d+$/u.test(parameter(query, name) ?? '0'));
  return wrong ? badRequest : undefined;
}
