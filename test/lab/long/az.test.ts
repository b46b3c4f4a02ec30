// Debian's `az` with its azure-devops extension, unmodified, against the practice server. Real: the client and its HTTP.
// Stand-in: Azure DevOps. First what docs/practice.md shows, to the letter; then what it does not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type LabAzure, startAzure } from '../../../practice/lab/azure.ts';
import { azBase, ensureBase } from '../../../practice/lab/base-images.ts';
import { docker } from '../../../practice/lab/engine.ts';
import { type Lab, removeLab, startLab } from '../../../practice/lab/lab.ts';
import { network } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { blocks, callInstead, curlCall, shownIn } from '../../support/shown-commands.ts';
import { azErrors, notImitated } from '../support/az-errors.ts';
import { azRows } from '../support/az-rows.ts';

const prefix = 'az';
let lab: Lab;
let azure: LabAzure;
let az: AzShell;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({ prefix, hosts: [] });
  azure = await startAzure(prefix, lab.folder);
  az = await startAz(prefix, azure);
});
afterAll(async () => {
  await az.remove();
  await lab.remove();
});

const shownOrganization = 'http://127.0.0.1:8088/lab';
const page = 'docs/practice.md';

test('docs/practice.md: what has to be typed first', async () => {
  const typed = blocks(page, 'sh').find((block) => block.includes('AZURE_DEVOPS_EXT_PAT')) ?? '';
  const there = typed
    .replaceAll(shownOrganization, azure.organization)
    .replace('practice-token', azure.token);
  const { code, stdout, stderr } = await az.run(`set -e; ${there}`, { token: '' });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Azure Pipelines  True         automation');
});

describe('docs/practice.md: what is typed and seen', () => {
  const shown = blocks(page, 'console').flatMap(shownIn);

  test.each(shown.map((each) => [each.command.replaceAll(/\s+/g, ' '), each] as const))(
    '%s',
    async (_, { command, output }) => {
      const origin = new URL(azure.organization).origin;
      if (command.startsWith('curl ')) {
        const { status, text } = await callInstead(curlCall(command), origin);
        expect(status, text).toBe(200);
        if (output !== '') expect(text).toBe(output.trim());
        return;
      }
      const { code, stdout, stderr } = await az.run(command);
      expect(stdout.trim() + stderr.trim()).toBe(
        output.trim().replaceAll(shownOrganization, azure.organization),
      );
      expect(code).toBe(output.startsWith('ERROR') ? 1 : 0);
    },
  );
});

test('they are many, and none is there twice', () => {
  const lines = azRows.map(({ line }) => line);
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.length).toBeGreaterThanOrEqual(25);
});

/** With the whole command as the title. */
function byLine<T extends { readonly line: string }>(rows: readonly T[]): readonly (readonly [string, T])[] {
  return rows.map((row) => [row.line, row]);
}

describe('what it can do', () => {
  test.each(byLine(azRows))('az %s', async (line, { before, json, text }) => {
    const { code, stdout, stderr } = await az.run(`${before === undefined ? '' : `${before}\n`}az ${line}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    if (text !== undefined) expect(stdout).toEqual(text);
    else expect(JSON.parse(stdout)).toEqual(json);
  });
});

describe('what it is refused, in its words', () => {
  test.each(byLine(azErrors))('az %s', async (line, { says, code = 1, token }) => {
    const seen = await az.run(`az ${line}`, token === undefined ? {} : { token });
    expect(seen.stderr).toContain(says);
    expect({ code: seen.code, stdout: seen.stdout }).toEqual({ code, stdout: '' });
    expect(seen.stderr).not.toContain('Traceback');
  });

  test.each(notImitated)('az %s: not imitated, and no other server is called', async (line) => {
    const { code, stderr } = await az.run(`az ${line}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^ERROR: API resource location [0-9a-f-]{36} is not registered on ${azure.organization}\\.\n$`,
      ),
    );
  });

  test('an expired token, and one that was revoked', async () => {
    const list = () => az.run('az pipelines pool list');
    await azure.control.setToken('expired');
    expect((await list()).stderr).toBe('ERROR: Access Denied: The Personal Access Token used has expired.\n');
    await azure.control.setToken('revoked');
    expect((await list()).stderr).toBe(
      "ERROR: TF400813: The user 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' is not authorized to access this resource.\n",
    );
    await azure.control.setToken('valid');
    expect((await list()).code).toBe(0);
  });

  test('without a token it asks for a login, and keeps the token that it is given then', async () => {
    const list = () => az.run('az pipelines pool list --query "length(@)"', { token: '' });
    expect((await list()).stderr).toContain('you need to run the login command');
    const login = `az devops login --org ${azure.organization}`;
    expect((await az.run(`echo wrong-token | ${login}`, { token: '' })).stderr).toContain(
      'Failed to authenticate using the supplied token.',
    );
    expect(await az.run(`echo ${azure.token} | ${login}`, { token: '' })).toMatchObject({ code: 0 });
    expect((await list()).stdout).toBe('2\n');
  });
});

/** Debian's `az`, unmodified, in a container on the lab's network: a person's shell with a token for a practice server. */
interface AzShell {
  /** Runs a line of bash. `token` takes the place of the server's own; an empty one is none. */
  run(line: string, options?: { readonly token?: string }): Promise<Output>;
  remove(): Promise<void>;
}

/** Makes the image unless there is one of the same recipe, and starts a container of it: files in it stay between lines. */
async function startAz(prefix: string, azure: LabAzure): Promise<AzShell> {
  const container = `${prefix}-az`;
  const image = await ensureBase(azBase);
  await docker(['rm', '-fv', container], { allowFailure: true });
  const environment = {
    LC_ALL: 'C.UTF-8',
    AZURE_CORE_COLLECT_TELEMETRY: 'no',
    // At each call it warns that the server is not dev.azure.com.
    AZURE_CORE_ONLY_SHOW_ERRORS: 'yes',
    // What could lead a call of this container out of the lab ends nowhere.
    https_proxy: 'http://127.0.0.1:9',
  };
  await docker(
    [
      ['run', '--detach', '--name', container, '--network', network.name, '--workdir', '/root'],
      Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      [image, 'sleep', 'infinity'],
    ].flat(),
  );
  return {
    run: (line, { token = azure.token } = {}) => {
      // By name only: the value goes by the environment of docker, not by its arguments.
      const withToken = token === '' ? [] : ['--env', 'AZURE_DEVOPS_EXT_PAT'];
      return docker(['exec', '-i', ...withToken, container, 'bash', '-c', line], {
        env: { AZURE_DEVOPS_EXT_PAT: token },
        allowFailure: true,
        timeoutMs: 900_000,
      });
    },
    remove: async () => {
      await docker(['rm', '-fv', container]);
    },
  };
}
