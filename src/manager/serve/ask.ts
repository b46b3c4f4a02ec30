import { request } from 'node:http';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { readRefusal } from '../../shared/contract/refusal.ts';

/** One call to the control socket of a running manager; the answer as text. */
export function ask(
  socketPath: string,
  call: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (problem: Omit<Problem, 'code'>): void =>
      reject(new FleetError({ code: 'control.failed', ...problem }));
    const outgoing = request(
      { socketPath, method: call.method, path: call.path, timeout: 30_000 },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else fail(readRefusal(text) ?? wordless(answer.statusCode, text));
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 30 s')));
    outgoing.on('error', (error) =>
      fail({
        what: `the manager does not answer on ${socketPath}`,
        seen: error.message,
        next: 'see whether it runs: systemctl status azp-fleet-manager',
      }),
    );
    outgoing.end(call.body === undefined ? undefined : JSON.stringify(call.body));
  });
}

function wordless(status: number | undefined, text: string): Omit<Problem, 'code'> {
  return {
    what: `the manager answered ${status ?? 'something'} without a reason of its own`,
    seen: text.slice(0, 300),
    next: 'look at its journal: journalctl -u azp-fleet-manager',
  };
}
