import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { env } from 'node:process';

import { machineRoot } from '../../../src/shared/base/host-root.ts';
import type { Facts } from '../../../src/fleet/facts/facts.ts';
import { packagesProbes, merged, userspaceVersion } from '../../../src/fleet/facts/probes/packages.ts';
import type { Installed } from '../../../src/fleet/packages/package-manager.ts';
import { upstream } from '../../../src/fleet/packages/version.ts';
import { factsOf, merge } from '../host.ts';
import { hangsMs, ScratchHost, type Outcome } from '../scratch/host.ts';
import { aptPrograms } from './programs.ts';
import { parseStanzas, printStanzas, stanzasOf } from './stanzas.ts';
import { systems, type List, type SystemName } from './systems.ts';

/** apt decides what these tests are about. Debian and Ubuntu have it; elsewhere there is nothing to be tested. */
export function aptIsHere(): boolean {
  const here = existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-query');
  if (!here && env['CI'] !== undefined) throw new Error('apt is missing; next: run the tests on Debian');
  return here;
}

/** What a host's owner has done to it before we come. */
export interface Past {
  /** As `installed`, before it, and from the system's own archive alone. */
  readonly shipped?: readonly string[];
  /** Words for `apt-get install`, one transaction a line. Recommended packages come along, as they do with people. */
  readonly installed?: readonly string[];
  /** Of their own archive. */
  readonly components?: readonly string[];
  readonly held?: readonly string[];
  /** The vendors' sources stay, in a file that is not ours. */
  readonly keepsVendors?: boolean;
  /** Of the vendors' packages those that their lists do not have. */
  readonly unoffered?: readonly string[];
  /** Left unpacked by a transaction that dpkg broke off. */
  readonly unpacked?: readonly string[];
}

/** Facts read a list of packages without dpkg as lost. To the resolver it is not installed, as the rest of the base. */
const dpkgItself = `Package: dpkg
Status: deinstall ok config-files
Maintainer: Dpkg Developers <debian-dpkg@lists.debian.org>
Architecture: amd64
Version: 1.21.22
Description: Debian package management system

`;

/** One host as apt and dpkg see it, with the package lists of its release and of the vendors. */
export class AptWorld {
  /** apt takes a comma in a path for the end of it. */
  readonly host = new ScratchHost('azp-world-');
  readonly #system;

  constructor(name: SystemName, past: Past = {}) {
    const system = systems[name];
    this.#system = system;
    const { host } = this;
    aptPrograms(host, system.kernel);
    host
      .folder('/var/lib/dpkg/updates', '/var/lib/dpkg/info', '/etc/apt/apt.conf.d', '/etc/apt/preferences.d')
      .folder('/etc/apt/sources.list.d', '/var/lib/apt/lists/partial', '/var/cache/apt/archives/partial')
      .folder('/etc/modprobe.d', '/var/log/apt', '/run/contents/keyring.deb/usr/share/keyrings')
      .file('/run/contents/keyring.deb/usr/share/keyrings/cuda-archive-keyring.gpg', 'key')
      .file('/var/lib/dpkg/status', dpkgItself)
      .file('/proc/locks')
      .file('/proc/version', 'Linux version')
      .file('/etc/apt/apt.conf', config(host.root));
    for (const list of system.archive) this.#offer(list, system.distribution);
    for (const list of system.vendors) this.#offer(list, system.distribution, past.unoffered);
    const components = past.components ?? ['main', 'restricted', 'multiverse'];
    const own = system.archive.filter(({ component }) => components.includes(component));
    const sources = (lists: readonly List[]): string =>
      lists.map(({ uri, suite, component }) => `deb ${uri} ${suite} ${component}\n`).join('');
    host.file('/etc/apt/sources.list', sources(own));
    for (const words of [system.base.join(' '), ...(past.shipped ?? [])]) this.#live(words);
    host.file('/etc/apt/sources.list', sources([...own, ...system.vendors]));
    for (const words of past.installed ?? []) this.#live(words);
    host.file('/etc/apt/sources.list', sources(own));
    if (past.keepsVendors === true)
      host.file('/etc/apt/sources.list.d/vendors.list', sources(system.vendors));
    this.#mark(past.held ?? [], /^Status: install /m, 'Status: hold ');
    this.#mark(past.unpacked ?? [], / installed$/m, ' unpacked');
  }

  /** A host of this system on which nothing of ours has run; its packages are what the fact script finds. */
  facts(rest: Parameters<typeof factsOf>[0] = {}): Promise<Facts> {
    const { os, kernel } = this.#system;
    return this.seen(factsOf({ os, kernel, ...rest }));
  }

  /** The same host, with its packages as they are now. */
  async seen(facts: Facts): Promise<Facts> {
    const read: Installed[] = [];
    for (const probe of packagesProbes) {
      const { code, stdout, stderr } = await this.run(probe.script({ root: machineRoot }));
      if (code !== 0) throw new Error(`${probe.name}: ${stderr}`);
      read.push(probe.parse(stdout));
    }
    const { packages, unfinished, held } = merged(read);
    const toolkit = packages['nvidia-container-toolkit'];
    return merge(
      { ...facts, packages, unfinished, held },
      {
        driver: { userspace: userspaceVersion(packages) },
        toolkit: { version: toolkit === undefined ? undefined : upstream(toolkit) },
        docker: { podman: packages['podman'] !== undefined },
      },
    );
  }

  run(script: string): Promise<Pick<Outcome, 'code' | 'stdout' | 'stderr'>> {
    return this.host.execute(script, {
      flags: ['-eu'],
      args: [],
      input: '',
      env: {},
      umask: '022',
      limitMs: hangsMs,
    });
  }

  remove(): void {
    this.host.remove();
  }

  #offer(
    { fixture, uri, suite, component, origin }: List,
    distribution: string,
    without: readonly string[] = [],
  ): void {
    const base = uri
      .replace(/^https?:\/\//, '')
      .replaceAll('_', '%5f')
      .replaceAll('/', '_');
    const stanzas = stanzasOf(fixture, { DISTRIBUTION: distribution }).filter(
      (stanza) => !without.includes(stanza.get('Package') ?? ''),
    );
    const [release, packages] =
      component === ''
        ? [`${base}_InRelease`, `${base}_Packages`]
        : [`${base}_dists_${suite}_InRelease`, `${base}_dists_${suite}_${component}_binary-amd64_Packages`];
    const lists = '/var/lib/apt/lists';
    this.host
      .file(
        `${lists}/${release}`,
        `Origin: ${origin}\nLabel: ${origin}\nSuite: ${suite}\nCodename: ${suite}\n`,
      )
      .file(`${lists}/${packages}`, printStanzas(stanzas.map((stanza) => new Map([...stanza, ...needed]))));
    for (const name of stanzas.map((stanza) => stanza.get('Package') ?? '')) {
      const pinned = /^nvidia-driver-pinning-(.+)$/.exec(name)?.[1];
      if (pinned === undefined) continue;
      const version = pinned.includes('.') ? `${pinned}-*` : `${pinned}.*`;
      this.host.file(
        `/run/contents/${name}/etc/apt/preferences.d/${name.replaceAll('.', '-')}`,
        `Package: *nvidia* libcuda* cuda-drivers*\nPin: version ${version}\nPin-Priority: 1000\n`,
      );
    }
  }

  /** @throws with apt's own words where this cannot be. */
  #live(words: string): void {
    const options = {
      encoding: 'utf8',
      env: { PATH: env['PATH'], APT_CONFIG: this.host.at('/etc/apt/apt.conf') },
    } as const;
    const answer = spawnSync(
      '/usr/bin/apt-get',
      ['-s', '-y', '--allow-downgrades', 'install', ...words.split(' ')],
      options,
    );
    if (answer.status !== 0) throw new Error(`no host can have ${words}: ${answer.stdout}${answer.stderr}`);
    const done = spawnSync('perl', [`${import.meta.dirname}/dpkg-standin.pl`, this.host.root, 'install'], {
      input: answer.stdout,
      encoding: 'utf8',
    });
    if (done.status !== 0) throw new Error(`no host can have ${words}: ${done.stderr}`);
  }

  #mark(names: readonly string[], before: RegExp, after: string): void {
    const file = this.host.at('/var/lib/dpkg/status');
    const stanzas = parseStanzas(readFileSync(file, 'utf8'));
    const marked = stanzas.map((stanza) =>
      names.includes(stanza.get('Package') ?? '')
        ? (parseStanzas(printStanzas([stanza]).replace(before, after))[0] ?? stanza)
        : stanza,
    );
    writeFileSync(file, printStanzas(marked));
  }
}

/** Fields that apt and dpkg miss. */
const needed: readonly (readonly [string, string])[] = [
  ['Filename', 'pool/package.deb'],
  ['Size', '1'],
  ['Maintainer', 'nobody'],
  ['Description', 'trimmed'],
];

function config(root: string): string {
  return `Dir "${root}/";
Dir::State::status "${root}/var/lib/dpkg/status";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "";
APT::Get::AllowUnauthenticated "true";
`;
}
