import type { ScriptCase } from '../../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../../support/scratch/host.ts';
import { asked, freed, heard, listed, made, plain, read, uris } from './simulation-world.ts';

/** What apt says of the room that it would take. */
export const roomCases: readonly ScriptCase[] = (
  [
    [
      'to come',
      'After this operation, 1,067 MB of additional disk space will be used.\n',
      '23445 1067000000',
    ],
    ['that goes', 'After this operation, 12.5 kB disk space will be freed.\n', '23445 -12500'],
    ['of none', 'After this operation, 0 B of additional disk space will be used.\n', '23445 0'],
  ] as const
).map(([name, after, room]) => ({
  name: `tells the room that is taken, ${name}`,
  script: plain,
  given: (host: ScratchHost) =>
    host
      .file('/run/answer')
      .file(
        '/run/room',
        `Need to get 9,9 MB of archives.\n${after}'http://a/b_1%2b2.deb' b_1+2.deb 23000 MD5Sum:x\n'http://a/c.deb' c.deb 445 \nx 'y z 7\n`,
      ),
  after: {
    stdout: `begin docker-install-1\nversion 5:2.0,1-1\nroom ${room}\nend\n`,
    stderr: heard,
    calls: [...read, listed, asked, 'apt-mark showhold', freed, uris],
    files: made,
  },
}));
