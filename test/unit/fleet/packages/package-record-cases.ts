import { noteScript, recordFile } from '../../../../src/fleet/packages/package-record.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';

const folder = '/var/lib/azp-fleet';
const lines = ['part docker', 'theirs docker.io', 'brought libnvidia-*'];

export const packageRecordSuite: ScriptSuite = {
  name: 'the record of packages',
  given: (host) => host.program('sync', ''),
  cases: [
    {
      name: 'is synced to the disk before the first change',
      script: `${noteScript(lines)}\nsystemctl next`,
      given: (host) => host.program('systemctl', ''),
      after: {
        files: { [folder]: '700 /', [recordFile]: `644 ${lines.join('\n')}\n` },
        calls: [`sync ${recordFile}.new`, `sync ${folder}`, 'systemctl next'],
      },
    },
    {
      name: 'gets new lines at its end; partial lines and an incomplete last line do not count',
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
      name: 'does not get existing lines again',
      script: noteScript(lines),
      given: (host) => host.file(recordFile, `${lines.toReversed().join('\n')}\n`),
      after: {},
    },
    {
      name: 'ends the change before it begins if the record cannot be synced',
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
