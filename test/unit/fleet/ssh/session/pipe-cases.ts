import { pipeScript } from '../../../../../src/fleet/ssh/session/socket-agent.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';

const pipe = pipeScript('/run/a,b.sock');

export const pipeSuite: ScriptSuite = {
  name: 'reaching a socket of the host',
  flags: [],
  given: async (host) => {
    await host.beside(
      `exec perl -MIO::Socket::UNIX -e '$| = 1; my $s = IO::Socket::UNIX->new(Local => "/run/a,b.sock", Listen => 1) or die; print "up\\n"; sleep 60'`,
    );
  },
  cases: [
    {
      name: 'by the docker client',
      script: pipe,
      given: (host) => host.program('docker', 'cat').program('socat', 'echo no'),
      run: { input: 'there' },
      after: { stdout: 'there', calls: ['docker -H unix:///run/a,b.sock system dial-stdio'] },
    },
    {
      name: 'by socat',
      script: pipe,
      given: (host) => host.program('socat', 'cat').program('nc', 'echo no'),
      run: { input: 'there' },
      after: { stdout: 'there', calls: ['socat - UNIX-CONNECT:/run/a,b.sock'] },
    },
    {
      name: 'by a netcat that supports unix sockets',
      script: pipe,
      given: (host) =>
        host.program('nc', 'case $1 in -h) echo "  -U  Use UNIX domain" >&2; exit 1 ;; *) cat ;; esac'),
      run: { input: 'there' },
      after: { stdout: 'there', calls: ['nc -h', 'nc -U /run/a,b.sock'] },
    },
    {
      name: "by the manager's Node, if netcat supports none",
      script: pipe,
      given: (host) => host.program('nc', 'echo "no sockets"').program('/opt/azp-fleet/current/node', 'cat'),
      run: { input: 'there' },
      after: {
        stdout: 'there',
        calls: [
          'nc -h',
          `node -e 'const s=require("net").connect(process.argv[1]);process.stdin.pipe(s).pipe(process.stdout)' /run/a,b.sock`,
        ],
      },
    },
    {
      name: 'without any of them',
      script: pipe,
      after: { code: 69, stderr: 'nothing here can connect to a unix socket (docker, socat, nc)\n' },
    },
    {
      name: 'fails without a socket',
      script: pipe,
      given: (host) => host.drop('/run/a,b.sock').file('/run/a,b.sock').program('docker', 'cat'),
      after: { code: 66, stderr: 'no socket /run/a,b.sock\n' },
    },
  ],
};
