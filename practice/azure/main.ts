import { parseArgs } from 'node:util';
import { FleetError } from '../../src/shared/base/errors.ts';
import { practiceOf } from '../../src/shared/base/practice.ts';
import { startFake } from './start.ts';

const help = `fake-azure: an imitation of Azure DevOps for practice and tests. No organization, no licence, no network needed.

  --listen HOST:PORT   where to listen (127.0.0.1:8088)
  --token-file FILE    the accepted tokens, one per line (required)
  --organization PATH  first part of the path (lab); FOLDER/COLLECTION below a virtual folder
  --public-url URL     the organization's URL that it calls itself by (the one that a caller used)
  --project NAME       a project that exists; repeatable (vision)
  --state-file FILE    keep everything over a restart

With AZP_FLEET_PRACTICE_CLOCK=N in its environment the service's slow rules run N times as fast.

Anyone who reaches the port can steer it under /_fake. Do not expose it.
`;

const { values } = parseArgs({
  options: {
    listen: { type: 'string', default: '127.0.0.1:8088' },
    'token-file': { type: 'string' },
    organization: { type: 'string', default: 'lab' },
    'public-url': { type: 'string' },
    project: { type: 'string', multiple: true, default: ['vision'] },
    'state-file': { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const tokenFile = values['token-file'];
const organization = values.organization.replaceAll(/^\/+|\/+$/gu, '');
const publicUrl = values['public-url']?.replace(/\/+$/u, '');
const [, host = '', port = ''] = /^(.*):(\d+)$/u.exec(values.listen) ?? [];

if (values.help || tokenFile === undefined || host === '' || organization === '' || !isPlainUrl(publicUrl)) {
  (values.help ? process.stdout : process.stderr).write(help);
  process.exitCode = values.help ? 0 : 2;
} else {
  await serve(tokenFile).catch((error: unknown) => {
    if (!(error instanceof FleetError)) throw error;
    const { what, expected, seen, next } = error.problem;
    process.stderr.write(`${what}\n  expected: ${expected}\n  seen: ${seen}\n  next: ${next}\n`);
    process.exitCode = error.exitCode;
  });
}

async function serve(tokens: string): Promise<void> {
  const running = await startFake({
    host,
    port: Number(port),
    tokenFile: tokens,
    organization,
    projects: values.project,
    clock: practiceOf(process.env).clock,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(values['state-file'] === undefined ? {} : { stateFile: values['state-file'] }),
  });
  process.stdout.write(`listening: ${running.organization}\n`);
  const stop = () => void running.close();
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

function isPlainUrl(text: string | undefined): boolean {
  if (text === undefined) return true;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return (
    url !== undefined && /^https?:$/u.test(url.protocol) && `${url.search}${url.hash}${url.username}` === ''
  );
}
