import { gzipSync } from 'node:zlib';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { uploadScript } from '../../../../../src/fleet/ssh/session/upload.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';

const path = "/opt/it's a/file";
const content = 'the content\n';
const digest = sha256(content);
const part = `${path}.${digest.slice(0, 16)}.part`;
const plain = uploadScript(path, digest, content.length, 0o640);
const packed = gzipSync(content);
const zipped = uploadScript(path, digest, packed.length, 0o755, 'gzip');
const owned = (file: string) => [`chown 0:0 '${file}'`];
const arrived = { "/opt/it's a": '755 /', [path]: `640 ${content}` };

export const uploadSuite: ScriptSuite = {
  name: "the host's part of an upload",
  flags: [],
  given: (host) => host.program('chown', ''),
  cases: [
    {
      name: 'receives a file, in a folder with mode 755',
      script: plain,
      run: { input: content, umask: '077' },
      after: { stdout: 'have 0\ndone\n', calls: owned(part), files: arrived },
    },
    {
      name: 'reports that the file exists, and sets its mode and owner',
      script: plain,
      given: (host) => host.file(path, content, { mode: 0o777 }),
      run: { input: content },
      after: { stdout: 'same\n', calls: owned(path), files: { [path]: `640 ${content}` } },
    },
    {
      name: 'replaces another file in one move, and removes its old partial files',
      script: plain,
      given: (host) =>
        host
          .file(path, 'other')
          .file(`${path}.0123456789abcdef.part`, 'left')
          .file(`${path}.0123 89abcdef.part.out`, 'left')
          .file(`${path}2.0123456789abcdef.part`, "another file's"),
      run: { input: content },
      after: {
        stdout: 'have 0\ndone\n',
        calls: owned(part),
        files: {
          [path]: `640 ${content}`,
          [`${path}.0123456789abcdef.part`]: 'gone',
          [`${path}.0123 89abcdef.part.out`]: 'gone',
        },
      },
    },
    {
      name: 'resumes an earlier attempt',
      script: plain,
      given: (host) => host.file(part, content.slice(0, 4)),
      run: { input: content.slice(4) },
      after: {
        stdout: 'have 4\ndone\n',
        calls: owned(part),
        files: { [path]: `640 ${content}`, [part]: 'gone' },
      },
    },
    {
      name: 'needs no input if all of it had arrived',
      script: plain,
      given: (host) => host.file(part, content),
      after: {
        stdout: 'have 12\ndone\n',
        calls: owned(part),
        files: { [path]: `640 ${content}`, [part]: 'gone' },
      },
    },
    {
      name: 'starts again if the partial file is too long',
      script: plain,
      given: (host) => host.file(part, `${content}!`),
      run: { input: content },
      after: {
        stdout: 'have 0\ndone\n',
        calls: owned(part),
        files: { [path]: `640 ${content}`, [part]: 'gone' },
      },
    },
    {
      name: 'keeps the partial file of a cut attempt, not readable by others',
      script: plain,
      given: (host) => host.folder("/opt/it's a"),
      run: { input: 'the' },
      after: { code: 4, stdout: 'have 0\nshort\n', files: { [part]: '600 the' } },
    },
    {
      name: 'rejects a file that became longer',
      script: plain,
      given: (host) => host.folder("/opt/it's a"),
      run: { input: `${content}!` },
      after: { code: 4, stdout: 'have 0\nshort\n', files: { [part]: `600 ${content}!` } },
    },
    {
      name: 'removes a file with another digest, and keeps the old file',
      script: plain,
      given: (host) => host.file(path, 'old'),
      run: { input: 'another one\n' },
      after: { code: 3, stdout: 'have 0\nbad\n' },
    },
    {
      name: 'unpacks, and removes the archive',
      script: zipped,
      given: (host) =>
        host.folder("/opt/it's a").program('gzip', `cat >/dev/null; printf '%s\\n' 'the content'`),
      run: { input: packed },
      after: {
        stdout: 'have 0\ndone\n',
        calls: ['gzip -dc', `chown 0:0 '${part}.out'`],
        files: { [path]: `755 ${content}` },
      },
    },
    {
      name: 'an archive with another digest is removed with its output',
      script: zipped,
      given: (host) => host.folder("/opt/it's a").program('gzip', 'echo another one'),
      run: { input: packed },
      after: { code: 3, stdout: 'have 0\nbad\n', calls: ['gzip -dc'] },
    },
    {
      name: 'an archive that cannot be unpacked is removed with its output',
      script: zipped,
      given: (host) =>
        host.folder("/opt/it's a").program('gzip', 'echo half; echo "gzip: unexpected end" >&2; exit 1'),
      run: { input: packed },
      after: { code: 3, stdout: 'have 0\nbad\n', stderr: 'gzip: unexpected end\n', calls: ['gzip -dc'] },
    },
    {
      name: 'a full disk ends it',
      script: plain,
      given: (host) =>
        host.folder("/opt/it's a").program('cat', 'echo "No space left on device" >&2; exit 1'),
      run: { input: content },
      after: {
        code: 1,
        stdout: 'have 0\n',
        stderr: 'No space left on device\n',
        calls: ['cat'],
        files: { [part]: '600 ' },
      },
    },
  ],
};
