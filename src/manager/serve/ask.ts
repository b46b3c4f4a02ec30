import { request } from 'node:http';
import { FleetError } from '../../base/errors.ts';

/** One call to the control socket of a running manager; the answer as text. */
export function ask(
  socketPath: string,
  call: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (what: string, next: string): void =>
      reject(new FleetError({ code: 'control.failed', what, next }));
    const outgoing = request(
      { socketPath, method: call.method, path: call.path, timeout: 30_000 },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else fail(text.trim(), 'azp-fleet-manager --help');
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 30 s')));
    outgoing.on('error', (error) =>
      fail(
        `the manager does not answer on ${socketPath}: ${error.message}`,
        'systemctl status azp-fleet-manager',
      ),
    );
    outgoing.end(call.body === undefined ? undefined : JSON.stringify(call.body));
  });
}
