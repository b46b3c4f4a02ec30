import { crc32 } from 'node:zlib';

/**
 * The task that runs a job's script, with the id and name of the one behind `script:` of a pipeline: every
 * server has it, and agents of an Azure DevOps Server check for it (JobRunner.cs).
 */
export const scriptTask = { id: 'd9bafed4-0b18-4f58-968d-86655b4d2ce9', name: 'CmdLine' } as const;

/**
 * Runs under any Node of the agent, from 10 on. The agent stops a step by SIGINT, later SIGTERM, and
 * sends them to this process alone: the script and its processes get them as from a terminal. A result
 * is a command to the agent on standard output; an exit code other than 0 would mean that the task is broken.
 */
const program = `'use strict';
const childProcess = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const tell = (command) => process.stdout.write('##vso[' + command + '\\n');
const fail = (text) => {
  tell('task.logissue type=error]' + text);
  tell('task.complete result=Failed;]' + text);
};

const folder = fs.mkdtempSync(path.join(process.env.AGENT_TEMPDIRECTORY || os.tmpdir(), 'script-'));
const file = path.join(folder, 'script.sh');
fs.writeFileSync(file, (process.env.INPUT_SCRIPT || '') + '\\n');
const environment = Object.assign({}, process.env);
delete environment.INPUT_SCRIPT;

let script;
for (const name of ['SIGINT', 'SIGTERM']) {
  process.on(name, () => {
    try {
      if (script.pid !== undefined) process.kill(-script.pid, name);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  });
}
const run = (shell, otherwise) => {
  const options = { stdio: ['ignore', 'inherit', 'inherit'], env: environment, detached: true };
  script = childProcess.spawn(shell, [file], options);
  script.on('error', (error) => {
    if (error.code === 'ENOENT' && otherwise) run(otherwise);
    else fail(shell + ' cannot be started: ' + error.message);
  });
  script.on('exit', (code, signal) => {
    fs.unlinkSync(file);
    fs.rmdirSync(folder);
    const status = code === null ? 128 + os.constants.signals[signal] : code;
    if (status !== 0) fail(shell + " exited with code '" + status + "'.");
  });
};
run('bash', 'sh');
`;

/** Agents cache a task by its version: the last number follows from the task's content. */
const scriptTaskVersion = { major: 2, minor: 0, patch: crc32(program) % 1_000_000 };
export const scriptTaskVersionText = Object.values(scriptTaskVersion).join('.');

/** The content of `task.json`. The agent chooses the handler with the newest Node that it knows (TaskRunner.GetHandlerData). */
export const scriptTaskDefinition = {
  id: scriptTask.id,
  name: scriptTask.name,
  friendlyName: 'Command line',
  description: "Runs the practice job's script with bash.",
  helpMarkDown: '',
  helpUrl: '',
  category: 'Utility',
  author: 'practice server',
  version: scriptTaskVersion,
  instanceNameFormat: 'Command line',
  visibility: ['Build', 'Release'],
  runsOn: ['Agent', 'DeploymentGroup'],
  groups: [],
  inputs: [{ name: 'script', type: 'multiLine', label: 'Script', defaultValue: '', required: true }],
  execution: Object.fromEntries(
    ['Node10', 'Node16', 'Node20_1', 'Node24'].map((handler) => [handler, { target: 'run.js' }]),
  ),
};

/** Files that the agent unpacks into its `_tasks`. */
export function scriptTaskArchive(): Buffer {
  return zip({ 'task.json': JSON.stringify(scriptTaskDefinition, undefined, 2), 'run.js': program });
}

/** Times in archives are unused here: 1 January 2026, in MS-DOS's bits. */
const dosTime = 0;
const dosDate = ((2026 - 1980) << 9) | (1 << 5) | 1;

/** Returns a zip archive of small files, uncompressed (PKWARE's APPNOTE, 4.3). */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  const index: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const path = Buffer.from(name);
    const content = Buffer.from(text);
    const shared = entry(path, content);
    const local = Buffer.concat([number(4, 0x04034b50), shared, path, content]);
    parts.push(local);
    // Made by version, then the fields of the local header, comment, disk and attributes, offset of the local header.
    index.push(number(4, 0x02014b50), number(2, 20), shared, Buffer.alloc(10), number(4, offset), path);
    offset += local.length;
  }
  const directory = Buffer.concat(index);
  const count = number(2, parts.length);
  const end = [number(4, 0x06054b50), Buffer.alloc(4), count, count, number(4, directory.length)];
  return Buffer.concat([...parts, directory, ...end, number(4, offset), Buffer.alloc(2)]);
}

/** From the needed version to the lengths of name and extra field: the same in both headers. */
function entry(path: Buffer, content: Buffer): Buffer {
  const utf8Names = 0x0800;
  return Buffer.concat([
    number(2, 20),
    number(2, utf8Names),
    number(2, 0),
    number(2, dosTime),
    number(2, dosDate),
    number(4, crc32(content)),
    number(4, content.length),
    number(4, content.length),
    number(2, path.length),
    number(2, 0),
  ]);
}

function number(bytes: 2 | 4, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
}
