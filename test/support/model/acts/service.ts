import fc from 'fast-check';
import { refusal } from '../azure.ts';
import { act, span, type Act } from './act.ts';

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
  fc.tuple(span, fc.constantFrom(0, 401, 403, 429, 503)).map(([ms, status]) =>
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
  fc.tuple(fc.integer({ min: 500, max: 4_500 }), span).map(([settleMs, ms]) =>
    act(`reads are ${settleMs} ms old for ${ms} ms`, ({ server, timeline }) => {
      server.settleMs = settleMs;
      timeline.after(ms, () => (server.settleMs = 0));
    }),
  ),
);
