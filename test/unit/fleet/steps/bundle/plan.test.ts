import { describe, expect, it } from 'vitest';

import { sha256 } from '../../../../../src/shared/base/digest.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { planHost, questionFor } from '../../../../../src/fleet/plan/plan.ts';
import type { HostPlan } from '../../../../../src/fleet/plan/fleet-plan.ts';
import { allSteps } from '../../../../../src/fleet/steps/all.ts';
import { agentImages } from '../../../../../src/fleet/steps/bundle/images.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../../support/host.ts';
import { index, includedOf } from '../../../../support/included.ts';

const how = { steps: allSteps, disturbOthers: false };
const runtime = { kind: 'text', text: '', sha256: '0'.repeat(64) } as const;
const mark = '/var/lib/azp-fleet/packages/mark';

/** Returns the names of the images that the host's manager uses. */
function names(facts: Facts, desired: Desired = desiredOf()): string[] {
  const none = (): Promise<Buffer> => Promise.reject(new Error('not read'));
  return agentImages(facts, desired, 'x64', Buffer.from('context'), none).map(({ reference }) => reference);
}

function desiredWith(
  images: readonly string[],
  system?: string,
  changes: Parameters<typeof desiredOf>[0] = {},
  agents: readonly string[] = [],
): Desired {
  const { artifacts } = desiredOf();
  return desiredOf(changes, {
    artifacts: { ...artifacts, runtime: () => runtime },
    included: includedOf(images, system, agents),
  });
}

function plan(facts: Facts, desired: Desired): HostPlan {
  return planHost(facts, desired, how);
}
const titles = ({ stages }: HostPlan): string[] => stages.flat().map(({ title }) => title);
const scripts = ({ stages }: HostPlan): string[] =>
  stages
    .flat()
    .flatMap((change) => (change.kind === 'change' ? change.actions : []))
    .flatMap((action) => (action.kind === 'run' ? [action.script] : []));

describe('a plan with a bundle', () => {
  const bare = factsOf();
  const all = names(bare);

  it('uploads the packages first, adds no source, and loads the image', () => {
    const made = plan(bare, desiredWith(all));
    expect(made.refusals).toEqual([]);
    const shown = titles(made);
    expect(shown[0]).toBe('upload 2 packages from the bundle (3 MB)');
    expect(shown.filter((title) => title.includes('package source'))).toEqual([]);
    expect(shown).toContain(`load image ${all[0]} from the bundle (2 MB)`);
    expect(shown.findIndex((title) => title.startsWith('load'))).toBeLessThan(
      shown.findIndex((title) => title.includes('manager')),
    );
  });

  it('uploads each file by digest, then the index, and the mark last', () => {
    const [change] = plan(bare, desiredWith(all)).stages.flat();
    if (change?.kind !== 'change') throw new Error('not known');
    const sent = change.actions.flatMap((action) =>
      action.kind === 'upload' ? [[action.path.split('/').at(-1), action.artifact.sha256]] : [],
    );
    expect(sent).toEqual([
      ['docker-ce_29.7.2-1_amd64.deb', sha256('docker-ce')],
      ['gcc_12.2.0-3_amd64.deb', sha256('gcc')],
      ['Packages', sha256(index)],
      ['mark', sha256(`${sha256(index)}\n`)],
    ]);
  });

  it('has no network address in scripts', () => {
    const made = plan(bare, desiredWith(all));
    const text = scripts(made).join('\n');
    expect(text).toContain('\nDir::Etc::Main "$folder/last.conf";\n');
    expect(text).toContain('\nDir::Etc::SourceParts "/dev/null";\n');
    expect(text).not.toMatch(/https?:\/\/(?!docker\/|localhost)/);
    expect(
      scripts(made)
        .filter((script) => script.includes('apt-get'))
        .every((script) => script.includes('APT_CONFIG')),
    ).toBe(true);
  });

  it('simulates with apt only the packages of the bundle', () => {
    const { script } = questionFor(bare, desiredWith(all), how, {}) ?? { script: '' };
    expect(script).toContain('Filename: ./pool/docker-ce_29.7.2-1_amd64.deb');
    expect(script).not.toContain('/etc/apt/sources.list.d/*.list');
  });

  it('identifies an image with a digest by its content', () => {
    const image = `registry.lab/team/x@sha256:${sha256('manifest')}`;
    const desired = desiredWith([], undefined, { image });
    const ids = [`sha256:${sha256('manifest')}`, `sha256:${sha256('config')}`];
    const manifest = { kind: 'text', text: 'manifest', sha256: sha256('manifest') } as const;
    const found = includedOf([image]).image(image, 'x86_64');
    if (desired.included === undefined || found === undefined) throw new Error('no included');
    const included = {
      ...desired.included,
      image: () => ({ ...found, proof: { manifests: [manifest], ids } }),
    };
    const changes = plan(bare, { ...desired, included }).stages.flat();
    const load = changes.find(({ title }) => title.startsWith(`load image ${image}`));
    expect(load).toMatchObject({
      actions: [
        { kind: 'upload', path: `/var/lib/azp-fleet/images/${sha256(image)}.image` },
        { kind: 'upload', path: `/var/lib/azp-fleet/manifests/${sha256('manifest')}.json`, mode: 0o600 },
        { kind: 'run', script: expect.stringContaining(`set -- ${ids.join(' ')}`) as string },
      ],
    });
  });

  it('uploads no installed packages, and loads no existing image', () => {
    const there = factsOf({ files: { [mark]: sha256(`${sha256(index)}\n`) }, docker: { images: all } });
    const shown = titles(plan(there, desiredWith(all)));
    expect(shown.filter((title) => /upload \d|load image/.test(title))).toEqual([]);
    const other = factsOf({ files: { [mark]: sha256('another') } });
    expect(plan(other, desiredWith(all)).stages[0]?.[0]).toMatchObject({ marker: 'change' });
  });

  it('is the same as without a bundle if nothing is downloaded', () => {
    const { included: _none, ...without } = desiredWith(all);
    const done = factsOf({ driver: driven, docker: { images: all } });
    const steps = { ...how, steps: allSteps.filter(({ name }) => name === 'image' || name === 'manager') };
    expect(planHost(done, desiredWith(all), steps)).toEqual(planHost(done, without, steps));
  });
});

describe('agents with mode host', () => {
  const digest = sha256('agent');
  const onHost = {
    agent: { version: '5.300.0', sha256: { x64: digest, arm64: undefined } },
    agents: {
      kind: 'slots',
      slots: [{ gpus: [0], share: false, limits: {}, capabilities: [], mode: 'host' }],
    },
  } as const;
  const all = names(factsOf(), desiredOf(onHost));
  const agentChanges = (facts: Facts, agents: readonly string[]) => {
    const { stages, refusals } = plan(facts, desiredWith(all, undefined, onHost, agents));
    return { changes: stages.flat().filter(({ title }) => title.includes('agent 5.300.0')), refusals };
  };

  it('get their program from the bundle before the manager starts', () => {
    const { changes, refusals } = agentChanges(factsOf(), [digest]);
    expect(refusals).toEqual([]);
    expect(changes).toMatchObject([
      {
        title: 'upload agent 5.300.0 from the bundle (2 MB)',
        actions: [
          { kind: 'upload', path: `/var/lib/azp-fleet/archives/${digest}.tar.gz`, mode: 0o600 },
          { kind: 'run', script: expect.stringContaining(`! -name ${digest}.tar.gz`) as string },
        ],
      },
    ]);
    const shown = titles(plan(factsOf(), desiredWith(all, undefined, onHost, [digest])));
    expect(shown.findIndex((title) => title.startsWith('upload agent'))).toBeLessThan(
      shown.findIndex((title) => title.startsWith('start ')),
    );
  });

  it('upload no existing program, and none without such slots', () => {
    const there = merge(factsOf(), { manager: { archives: [digest] } });
    expect(agentChanges(there, [digest]).changes).toEqual([]);
    expect(titles(plan(factsOf(), desiredWith(all))).filter((title) => /upload agent/.test(title))).toEqual(
      [],
    );
  });

  it('are refused by name if the bundle lacks their program', () => {
    expect(agentChanges(factsOf(), []).refusals).toMatchObject([
      {
        step: 'manager',
        what: expect.stringContaining('the bundle lacks agent 5.300.0 (sha256 ') as string,
      },
    ]);
  });
});

describe('a plan with a bundle for a host with dnf', () => {
  const os = { id: 'rocky', idLike: [], versionId: '9.6', codename: '', pretty: 'Rocky Linux 9.6' };
  const bare = factsOf({ os, packages: {} });
  const desired = desiredWith(names(bare), 'rocky-9');

  it('uploads the packages first, with the index for dnf, and adds and reads no repository', () => {
    const made = plan(bare, desired);
    expect(made.refusals).toEqual([]);
    expect(titles(made)[0]).toBe('upload 2 packages from the bundle (3 MB)');
    expect(titles(made).filter((title) => title.includes('package source'))).toEqual([]);
    const [upload] = made.stages.flat();
    if (upload?.kind !== 'change') throw new Error('not known');
    expect(
      upload.actions.flatMap((action) =>
        action.kind === 'upload' ? [action.path.split('/packages/')[1]] : [],
      ),
    ).toEqual([
      'pool/docker-ce-29.7.2-1.el9.x86_64.rpm',
      'pool/passt-0^20240806-2.el9.x86_64.rpm',
      'repodata/primary.xml',
      'mark',
    ]);
    const text = scripts(made).join('\n');
    expect(text).not.toMatch(
      /(?<!="|docker.|localhost.)https?:\/\/(?!docker\/|localhost|linux\.duke\.edu|dl\.fedoraproject)/,
    );
    expect(
      scripts(made)
        .filter((script) => script.includes('dnf_run'))
        .every((script) => script.includes('command dnf --setopt=reposdir="$folder/sources"')),
    ).toBe(true);
  });

  it('simulates with dnf only the packages of the bundle', () => {
    const { script } = questionFor(bare, desired, how, {}) ?? { script: '' };
    expect(script).toContain('<location href="pool/docker-ce-29.7.2-1.el9.x86_64.rpm"/>');
    expect(script).not.toContain('for other in /etc/yum.repos.d');
    expect(script).not.toContain('\nlisten ');
  });

  it('uploads them also to lock packages, because that needs the plugin', () => {
    const engine = [
      'docker-ce',
      'docker-ce-cli',
      'containerd.io',
      'docker-buildx-plugin',
      'docker-compose-plugin',
    ];
    const packages = Object.fromEntries(engine.map((name) => [name, '3:29.7.2-1.el9']));
    const docker = { serverVersion: '29.7.2', active: true, enabled: true };
    const one = { ...how, steps: allSteps.filter(({ name }) => name === 'docker') };
    const shown = titles(planHost(factsOf({ os, packages, docker }), desired, one));
    expect(shown[0]).toBe('upload 2 packages from the bundle (3 MB)');
    expect(shown).toContain('hold the Docker packages');
    const onDebian = factsOf({ packages, docker });
    const held = planHost(onDebian, desiredWith(names(onDebian)), one);
    expect(titles(held)).toContain('hold the Docker packages');
    expect(titles(held)[0]).not.toContain('upload');
  });
});

describe('missing parts of a bundle are refused by name, with the command for a new bundle', () => {
  const bare = factsOf();
  const refusals = (facts: Facts, desired: Desired) =>
    plan(facts, desired).refusals.map(({ step, what }) => `${step}: ${what}`);

  it('packages of the system', () => {
    const desired = desiredWith(names(bare), 'debian-13');
    expect(refusals(bare, desired)).toEqual([
      'driver: the bundle lacks packages for Debian GNU/Linux 12 (bookworm) on x86_64',
    ]);
    expect(plan(bare, desired).refusals[0]?.next).toContain('azp-fleet bundle inventory.yaml');
    expect(
      titles(plan(bare, desired)).filter((title) => /upload \d|install (Docker|NVIDIA)/.test(title)),
    ).toEqual([]);
  });

  it('the image', () => {
    const [image = ''] = names(bare);
    expect(refusals(bare, desiredWith(['azp-fleet/agent:old']))).toEqual([
      `image: the bundle lacks image ${image}, which this host needs; it has azp-fleet/agent:old`,
    ]);
  });

  it('Node for its architecture', () => {
    const desired = { ...desiredWith(names(bare)), artifacts: desiredOf().artifacts };
    const lacking = { ...desired, artifacts: { ...desired.artifacts, runtime: () => undefined } };
    expect(refusals(bare, lacking)).toEqual([
      'manager: the bundle lacks Node for x86_64, which the manager runs on',
    ]);
  });

  it('a version that is not in it, as apt prints it', () => {
    const question = questionFor(bare, desiredWith(names(bare)), how, {});
    const id = /begin (\S*driver-install\S*)/.exec(question?.script ?? '')?.[1] ?? '';
    const said = question?.read(`begin ${id}\nmissing\noffer 595.71.05-1\nend\n`) ?? {};
    expect(said[id]).toMatchObject({
      kind: 'impossible',
      what: expect.stringMatching(/the bundle has no \S+ 580; it has 595\.71\.05/) as string,
    });
  });
});

describe('the image of a host', () => {
  const image = (facts: Facts, branch = '580'): string =>
    names(facts, desiredOf({ driver: { branch } }))[0]?.replace(/-[0-9a-f]{12}$/, '') ?? '';
  const gpus = (deviceId: string) => ({ gpus: [{ address: '0000:01:00.0', deviceId, boundTo: undefined }] });

  it.each([
    ['H200, branch 580', factsOf(), '580', 'cuda13.0'],
    ['H200, branch 595', factsOf(), '595', 'cuda13.2'],
    ['V100', factsOf(gpus('1db4')), '580', 'cuda12.9'],
    ['B200', factsOf(gpus('2901')), '570', 'cuda12.8'],
    ['no GPU', factsOf({ gpus: [] }), '580', 'cpu'],
    ['a running driver', factsOf({ driver: driven }), '580', 'cuda13.0'],
  ])('%s', (_, facts, branch, flavour) => {
    expect(image(facts, branch)).toBe(`azp-fleet/agent:4.260.0-${flavour}`);
  });
});
