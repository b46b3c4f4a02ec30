import fc from 'fast-check';
import { refusal } from '../azure.ts';
import { act, span, type Act } from './act.ts';

/** Statuses that do not exist, as a broken proxy may answer; 099 is read as 99. */
const oddStatuses = [99, 101, 600, 999] as const;

/** Faults of the server. */
export const service: fc.Arbitrary<Act> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'findAgent',
        'createAgent',
        'replaceAgent',
        'setAgentEnabled',
        'setUserCapabilities',
        'listAgents',
        'deleteAgent',
        '\\w+',
      ),
      fc.constantFrom(
        ...([401, 403, 429, 500] as const).map((status) => ({ status, how: 'refused' as const })),
        { status: 503, how: 'silent' as const },
        { status: 0, how: 'unanswered' as const },
        { status: 0, how: 'silent' as const },
        // A proxy may answer so before or after the server has carried out the call.
        ...oddStatuses.flatMap((status) => [
          { status, how: 'refused' as const },
          { status, how: 'unanswered' as const },
        ]),
      ),
      fc.integer({ min: 1, max: 4 }),
    )
    .map(([call, { status, how }, left]) =>
      act(`the server fails ${left} times: ${call} ${how} ${status}`, ({ boundary }) => {
        boundary.faults.push({
          calls: new RegExp(`^azure\\.${call}$`),
          left,
          how,
          error: (name) => refusal(status, name),
        });
      }),
    ),
  fc.tuple(span, fc.constantFrom(0, 401, 403, 429, 503, ...oddStatuses)).map(([ms, status]) =>
    act(`the server answers ${status} for ${ms} ms`, ({ boundary, timeline }) => {
      const fault = {
        calls: /^azure\./,
        left: Number.POSITIVE_INFINITY,
        how: 'refused' as const,
        error: (name: string) => refusal(status, name),
      };
      boundary.faults.push(fault);
      timeline.after(ms, () => (fault.left = 0));
    }),
  ),
  fc
    .tuple(
      fc.constantFrom('86400', '90', '5', '-1', 'soon', '1e999', 'Sat, 31 Dec 2999 23:59:59 GMT'),
      fc.boolean(),
      fc.integer({ min: 1, max: 4 }),
    )
    .map(([retryAfter, isLimited, left]) =>
      act(
        `${left} answers ask for a pause: ${retryAfter}${isLimited ? ', over the limit' : ''}`,
        ({ server, clock }) => {
          const resetAt = String(Math.ceil(clock.wall() / 1000) + 600);
          const headers = { 'retry-after': retryAfter, ...(isLimited && { 'x-ratelimit-reset': resetAt }) };
          server.pause = { left, headers };
        },
      ),
    ),
  fc.tuple(fc.integer({ min: 500, max: 4_500 }), span).map(([settleMs, ms]) =>
    act(`reads are ${settleMs} ms old for ${ms} ms`, ({ server, timeline }) => {
      server.settleMs = settleMs;
      timeline.after(ms, () => (server.settleMs = 0));
    }),
  ),
);
