import type { Platform } from '../../../../src/fleet/packages/distribution.ts';
import type { PackageManager } from '../../../../src/fleet/packages/package-manager.ts';

/** A package manager whose scripts are the requests, as JSON after a verb. */
export const toy: PackageManager = {
  name: 'toy',
  files: ['/toy/docker', '/toy/docker.key', '/toy/authority'],
  sourceFolder: '/toy',
  folders: ['/toy'],
  locks: ['/toy/lock'],
  installed: {
    script: (patterns) => `toy list ${patterns.join(' ')}`,
    line: /@/,
    byHand: 'toy list',
    parse: (output) => ({
      packages: Object.fromEntries(
        output.split('\n').flatMap((line) => {
          const [name, version] = line.split('@');
          return name === undefined || version === undefined ? [] : [[name, version]];
        }),
      ),
      held: [],
      awaitsReboot: false,
    }),
  },
  driverLibraries: /^toy-driver$/,
  trust: {
    file: '/toy/authority',
    trusted: 'toy trusts /toy/authority',
    script: (caPem) => `toy trust ${JSON.stringify(caPem)}`,
    withdraw: 'toy distrust',
  },
  source: (vendor, system) => ({
    file: `/toy/${vendor}`,
    text: `${vendor} for ${system.machine}`,
    keyFile: `/toy/${vendor}.key`,
    script: `toy source ${vendor}`,
  }),
  simulator: {
    script: ({ asked, missing }) => `toy ask ${JSON.stringify([asked.map(({ key }) => key), missing])}`,
    parse: (output, asked) =>
      Object.fromEntries(asked.map(({ key }) => [key, { kind: 'unknown', why: output }])),
  },
  install: (asked, bound) =>
    `toy install ${JSON.stringify(bound === undefined ? asked : { ...asked, bound })}`,
  hold: (names) => `toy hold ${names.join(' ')}`,
  unhold: (names) => `toy free ${names.join(' ')}`,
  remove: (names) => `toy remove ${names.join(' ')}`,
  withdraw: (vendor) => ({
    files: [`/toy/${vendor}`, `/toy/${vendor}.key`],
    script: `toy withdraw ${vendor}`,
  }),
  downloader: () => 'toy fetches',
  removal: (names) => `toy away ${names.join(' ')}`,
  offline: {
    folder: '/toy/folder',
    index: '/toy/folder/list',
    mark: '/toy/folder/mark',
    isKernel: (name) => name.startsWith('toy-kernel'),
    gather: ({ transactions }) => `toy gather ${JSON.stringify(transactions)}`,
    fetches: /^toy fetches/,
    listed: () => [],
    bringsToHold: false,
    tidy: 'toy tidy',
    manager: (index, next) => ({
      ...toy,
      install: (asked) => `toy install from ${index} ${JSON.stringify(asked)} or ${next}`,
    }),
  },
};

/** A system with this package manager. */
export const toyPlatform: Platform = {
  id: 'toy',
  versionId: '1',
  machine: 'x86_64',
  packages: toy,
  image: (release) => `toy:${release}`,
  names: {
    engine: { own: 'toy-engine', conflicts: ['toy-engine', 'toy-runtime'] },
    agentLibraries: [],
    kernels: { x86_64: [], aarch64: [] },
    desktop: { own: ['toy-screen'], driver: ['toy-paint'] },
    driver: {
      packages: ({ branch }, flavor) => ['toy-driver', `toy-${flavor}-modules-${branch}`],
      extras: (_, uses) => uses.map((use) => `toy-${use}`),
      lacks: (packages, uses) =>
        uses.map((use) => `toy-${use}`).filter((name) => packages[name] === undefined),
      variants: () => ['toy-driver'],
      formerly: ['toy-driver'],
      optional: () => ['toy-daemon'],
      obsolete: (installed) => installed.filter((name) => name.startsWith('toy-old')),
      family: ['toy-*'],
      replaced: ['toy-old*'],
      build: ({ lacksToBuild, kernels: [, next] }) => ({
        packages: lacksToBuild,
        script: lacksToBuild.map((tool) => `toy bring ${tool}`).join('\n'),
        next,
      }),
      prepare: () => 'toy prepare',
      runfile: { packages: () => ['toy-builder'] },
      signing: {
        certificate: '/toy/key',
        create: 'toy key',
        trustsFirmware: () => false,
        covers: () => false,
        builtHere: () => true,
        readyMade: () => undefined,
      },
      refreshInitramfs: 'toy initramfs',
    },
  },
  nvidia: { folder: 'toy1', keySha256: '0'.repeat(64) },
  docker: { folder: 'toy', release: '1' },
};
