import { noteScript, recordFile } from '../../../../src/fleet/packages/package-record.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';

const folder = '/var/lib/azp-fleet';
const lines = ['part docker', 'theirs docker.io', 'brought libnvidia-*'];

export const packageRecordSuite: ScriptSuite = {
  name: 'what is noted of packages',
  given: (host) => host.program('sync', ''),
  cases: [
    {
      name: 'the first time, on the disk before anything else is done',
      script: `${noteScript(lines)}\nsystemctl next`,
      given: (host) => host.program('systemctl', ''),
      after: {
        files: { [folder]: '700 /', [recordFile]: `644 ${lines.join('\n')}\n` },
        calls: [`sync ${recordFile}.new`, `sync ${folder}`, 'systemctl next'],
      },
    },
    {
      name: 'what is new, behind what is there; a part of a line is another one, and what a cut left does not count',
      script: noteScript(lines),
      given: (host) =>
        host
          .file(recordFile, 'part toolkit\npart docker\nbrought libnvidia-compute\ntheirs docker.io-doc\n')
          .file(`${recordFile}.new`, 'cut'),
      after: {
        files: {
          [folder]: '700 /',
          [recordFile]:
            '644 part toolkit\npart docker\nbrought libnvidia-compute\ntheirs docker.io-doc\ntheirs docker.io\nbrought libnvidia-*\n',
          [`${recordFile}.new`]: 'gone',
        },
        calls: [`sync ${recordFile}.new`, `sync ${folder}`],
      },
    },
    {
      name: 'what is there already is not written again',
      script: noteScript(lines),
      given: (host) => host.file(recordFile, `${lines.toReversed().join('\n')}\n`),
      after: {},
    },
    {
      name: 'what cannot be brought to the disk ends the change before it begins',
      script: `${noteScript(lines)}\nsystemctl next`,
      given: (host) => host.program('sync', 'exit 1').program('systemctl', ''),
      after: {
        code: 1,
        files: { [folder]: '700 /', [`${recordFile}.new`]: `644 ${lines.join('\n')}\n` },
        calls: [`sync ${recordFile}.new`],
      },
    },
  ],
};
