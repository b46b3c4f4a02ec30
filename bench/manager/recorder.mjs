// Loaded into a manager by --import: records when each of its calls begins and ends, when its engine reports that a
// container has exited, and when an agent says that it listens, runs a job, or has finished it. One JSON document a line,
// times in milliseconds since the epoch.
import { subscribe } from 'node:diagnostics_channel';
import { openSync, writeSync } from 'node:fs';

const file = openSync(process.env.AZP_FLEET_RECORD, 'a', 0o600);
const numbers = new WeakMap();
let last = 0;

const says = [
  ['listening', /Z: Listening for Jobs/],
  ['running', /Z: Running job: /],
  ['completed', /Z: Job .* completed with result: /],
];

const note = (line) =>
  writeSync(file, `${JSON.stringify({ t: performance.timeOrigin + performance.now(), ...line })}\n`);

function begin(request) {
  last += 1;
  numbers.set(request, last);
  note({ kind: 'begin', n: last, what: `${request.method} ${request.path}` });
}

function end(request) {
  const n = numbers.get(request);
  numbers.delete(request);
  if (n !== undefined) note({ kind: 'end', n });
}

subscribe('undici:request:create', ({ request }) => begin(request));
subscribe('undici:request:trailers', ({ request }) => end(request));
subscribe('undici:request:error', ({ request }) => end(request));

subscribe('http.client.request.start', ({ request }) => begin(request));
subscribe('http.client.request.error', ({ request }) => end(request));
subscribe('http.client.response.finish', ({ request, response }) => {
  const isEvents = request.path.includes('/events?');
  const [, followed] = /^\/containers\/([0-9a-f]{64})\/logs\?\S*follow=(?:1|true)/.exec(request.path) ?? [];
  const push = response.push.bind(response);
  // The parser pushes each piece as it arrives, and null at the end; the caller does the reading.
  response.push = (chunk, ...rest) => {
    if (chunk === null) end(request);
    else if (isEvents) {
      for (const [, id] of String(chunk).matchAll(/"status":"die","id":"([0-9a-f]{64})"/g))
        note({ kind: 'die', id });
    } else if (followed !== undefined) {
      for (const [kind, pattern] of says) if (pattern.test(String(chunk))) note({ kind, id: followed });
    }
    return push(chunk, ...rest);
  };
});
