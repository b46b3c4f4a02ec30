import type { Deb, DebFile } from './deb.ts';
import { type Release, labFiles } from './paths.ts';

export const driverVersions = ['580.95.05', '595.71.05'] as const;
/** Not the newest of its branch. */
export const olderVersion = '595.58.03';
export const toolkitVersion = '1.20.0';

/** NVIDIA's folder for the packages of a release. */
export const cudaDistribution = { bookworm: 'debian12', trixie: 'debian13' } as const satisfies Record<
  Release,
  string
>;

const base = 'https://developer.download.nvidia.com/compute/cuda/repos';
/** The Debian release that imitates it. */
export const ubuntuDistribution = 'ubuntu2404';
const share = '/usr/lib/nvidia-standin';
const script = (path: string, source: string): DebFile => ({
  path,
  content: { copy: labFiles('gpu', source) },
  executable: true,
});
const plain = (path: string, source: string): DebFile => ({
  path,
  content: { copy: labFiles('gpu', source) },
});
const text = (path: string, content: string): DebFile => ({ path, content: { text: content } });
const enable = (...units: readonly string[]): string =>
  units.map((unit) => `deb-systemd-helper enable ${unit} > /dev/null || true`).join('\n');

/** Returns the driver of one version, under the names of NVIDIA's repository for Debian. */
export function driverPackages(version: string): Deb[] {
  const full = `${version}-1`;
  const exactly = (name: string): string => `${name} (= ${full})`;
  const branch = version.split('.')[0] ?? '';
  return [
    ...[branch, version].map((pin) => pinning(pin, full)),
    library('libnvidia-ml1', full),
    libcuda(full),
    userspace(version, full),
    kernelModule('nvidia-kernel-open-dkms', 'nvidia-kernel-dkms', version, 'open'),
    kernelModule('nvidia-kernel-dkms', 'nvidia-kernel-open-dkms', version, 'proprietary'),
    {
      name: 'nvidia-open',
      version: full,
      description: 'driver with open kernel modules',
      depends: ['nvidia-driver-cuda', 'nvidia-kernel-open-dkms'].map(exactly),
    },
    {
      name: 'cuda-drivers',
      version: full,
      description: 'driver with proprietary kernel modules',
      depends: ['nvidia-driver-cuda', 'nvidia-kernel-dkms'].map(exactly),
    },
    persistenced(full),
  ];
}

/** Returns the same under the names of NVIDIA's repository for Ubuntu: up to 580 with the branch in them. */
export function ubuntuDriverPackages(version: string): Deb[] {
  const full = `${version}-1ubuntu1`;
  const branch = version.split('.')[0] ?? '';
  const suffix = Number(branch) < 590 ? `-${branch}` : '';
  const libraries = `libnvidia-compute${suffix}`;
  const { files: tools = [] } = userspace(version, full);
  const { files: cuda = [] } = libcuda(full);
  const one = { provides: ['nvidia-standin-libraries'], conflicts: ['nvidia-standin-libraries'] };
  const modules = (kind: 'open' | 'proprietary'): Deb => {
    const name = `nvidia-dkms${suffix}${kind === 'open' ? '-open' : ''}`;
    const { files = [], scripts = {} } = kernelModule(name, '', version, kind);
    const standIn = 'nvidia-standin-modules';
    return {
      name,
      version: full,
      description: `stand-in kernel module, ${kind}`,
      depends: [`nvidia-kernel-common${suffix} (= ${full})`],
      provides: [standIn],
      conflicts: [standIn],
      files,
      scripts,
    };
  };
  return [
    ...[branch, version].map((pin) => pinning(pin, full)),
    suffix === ''
      ? { name: libraries, version: full, description: 'stand-in', ...one, files: [...cuda, ...tools] }
      : { name: libraries, version: full, description: 'stand-in', ...one, files: cuda },
    ...(suffix === ''
      ? []
      : [
          {
            name: `nvidia-utils${suffix}`,
            version: full,
            description: 'stand-in nvidia-smi',
            depends: [`${libraries} (= ${full})`],
            files: tools,
          },
        ]),
    { name: `nvidia-kernel-common${suffix}`, version: full, description: 'stand-in' },
    modules('open'),
    modules('proprietary'),
    persistenced(full),
  ];
}

function pinning(pin: string, full: string): Deb {
  const pattern = pin.includes('.') ? `${pin}-*` : `${pin}.*`;
  const name = `nvidia-driver-pinning-${pin}`;
  // apt ignores files with a dot in their name.
  const file = `/etc/apt/preferences.d/${name.replaceAll('.', '-')}`;
  return {
    name,
    version: full,
    architecture: 'all',
    description: `keeps the driver on ${pin}`,
    provides: ['nvidia-driver-pinning'],
    conflicts: ['nvidia-driver-pinning'],
    // debhelper declares each file in /etc as configuration.
    conffiles: [file],
    files: [
      text(file, `Package: *nvidia* libcuda* cuda-drivers*\nPin: version ${pattern}\nPin-Priority: 1000\n`),
    ],
  };
}

const library = (name: string, version: string): Deb => ({
  name,
  version,
  description: 'stand-in without a library in it',
});

/** The path in containers, too: the toolkit mounts it there under its name on the host. */
export const libcudaFile = '/usr/lib/x86_64-linux-gnu/libcuda.so.1';

const libcuda = (version: string): Deb => ({
  name: 'libcuda1',
  version,
  description: 'stand-in that has cuInit alone, which succeeds',
  files: [{ path: libcudaFile, content: { bytes: standInLibcuda(0) } }],
});

function userspace(version: string, full: string): Deb {
  return {
    name: 'nvidia-driver-cuda',
    version: full,
    description: 'stand-in nvidia-smi',
    depends: [`libnvidia-ml1 (= ${full})`, `libcuda1 (= ${full})`],
    files: [
      script('/usr/bin/nvidia-smi', 'driver/nvidia-smi'),
      plain(`${share}/smi.awk`, 'driver/smi.awk'),
      text(`${share}/userspace`, `${version}\n`),
    ],
  };
}

function kernelModule(name: string, other: string, version: string, flavor: 'open' | 'proprietary'): Deb {
  return {
    name,
    version: `${version}-1`,
    description: `stand-in kernel module, ${flavor}`,
    conflicts: [other],
    files: [
      script(`${share}/kernel-module`, 'driver/kernel-module'),
      text(`${share}/kmod`, `${version}\n`),
      text(`${share}/flavor`, `${flavor}\n`),
      plain('/usr/lib/modprobe.d/nvidia-standin.conf', 'driver/modprobe.conf'),
      text('/usr/lib/modprobe.d/nvidia-blacklist.conf', 'blacklist nouveau\noptions nouveau modeset=0\n'),
      plain('/lib/systemd/system/nvidia-boot.service', 'driver/nvidia-boot.service'),
    ],
    scripts: { postinst: enable('nvidia-boot.service') },
  };
}

function persistenced(version: string): Deb {
  return {
    name: 'nvidia-persistenced',
    version,
    description: 'stand-in persistence daemon',
    files: [plain('/lib/systemd/system/nvidia-persistenced.service', 'driver/nvidia-persistenced.service')],
  };
}

/** Returns the vendor's keyring package: the key, the vendor's own (here unreachable) address, the pin of its origin. */
export function cudaKeyring(distribution: string, keyFile: string): Deb {
  const list = `cuda-${distribution}-x86_64.list`;
  const keyring = '/usr/share/keyrings/cuda-archive-keyring.gpg';
  return {
    name: 'cuda-keyring',
    version: '1.1-1',
    architecture: 'all',
    description: 'key and address of the CUDA repository',
    files: [
      { path: keyring, content: { copy: keyFile } },
      text(
        `/etc/apt/sources.list.d/${list}`,
        `deb [signed-by=${keyring}] ${base}/${distribution}/x86_64/ /\n`,
      ),
      text(
        '/etc/apt/preferences.d/cuda-repository-pin-600',
        'Package: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n',
      ),
    ],
  };
}

export function toolkitPackages(): Deb[] {
  const version = `${toolkitVersion}-1`;
  const exactly = (name: string): string => `${name} (= ${version})`;
  return [
    { name: 'libnvidia-container1', version, description: 'stand-in without a library in it' },
    {
      name: 'libnvidia-container-tools',
      version,
      description: 'stand-in',
      depends: [exactly('libnvidia-container1')],
    },
    {
      name: 'nvidia-container-toolkit-base',
      version,
      description: 'stand-in nvidia-ctk and CDI refresh',
      files: [
        script('/usr/bin/nvidia-ctk', 'toolkit/nvidia-ctk'),
        script('/usr/bin/nvidia-container-runtime', 'toolkit/nvidia-container-runtime'),
        text(`${share}/toolkit`, `${toolkitVersion}\n`),
        plain('/lib/systemd/system/nvidia-cdi-refresh.service', 'toolkit/nvidia-cdi-refresh.service'),
        plain('/lib/systemd/system/nvidia-cdi-refresh.path', 'toolkit/nvidia-cdi-refresh.path'),
      ],
      scripts: {
        postinst: [
          enable('nvidia-cdi-refresh.service', 'nvidia-cdi-refresh.path'),
          'systemctl daemon-reload || true',
          'systemctl start nvidia-cdi-refresh.path || true',
          'systemctl start nvidia-cdi-refresh.service || true',
        ].join('\n'),
      },
    },
    {
      name: 'nvidia-container-toolkit',
      version,
      description: 'stand-in prestart hook',
      depends: ['libnvidia-container-tools', 'nvidia-container-toolkit-base'].map(exactly),
      files: [script('/usr/bin/nvidia-container-runtime-hook', 'toolkit/nvidia-container-runtime-hook')],
    },
  ];
}

/** The code of `cuInit`, which returns a number for all arguments. */
const returning = {
  // mov eax, NUMBER; ret
  x64: { machine: 62, code: (answer: number) => Buffer.concat([hex('b8'), word(answer), hex('c3')]) },
  // movz w0, NUMBER; ret
  arm64: {
    machine: 183,
    code: (answer: number) => Buffer.concat([word(0x5280_0000 + answer * 32), hex('c0035fd6')]),
  },
};

export type StandInMachine = keyof typeof returning;

/**
 * Returns a library with only cuInit: libcuda.so.1 without a GPU. `answer`: the returned number, below 65,536. One
 * segment to read, write and execute, and the table of names in the order that System V's linkers need.
 */
export function standInLibcuda(answer: number, architecture: StandInMachine = 'x64'): Buffer {
  const { machine, code } = returning[architecture];
  const names = Buffer.from('\0libcuda.so.1\0cuInit\0');
  const at = { dynamic: 64 + 2 * 56, hash: 0, symbols: 0, code: 0, names: 0 };
  at.hash = at.dynamic + 7 * 16;
  // One bucket with one symbol; five words, and one for alignment.
  at.symbols = at.hash + 24;
  at.code = at.symbols + 48;
  at.names = at.code + 8;
  const size = at.names + names.length;
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  [3, machine].forEach((value, index) => header.writeUInt16LE(value, 16 + 2 * index));
  header.writeUInt32LE(1, 20);
  header.writeUInt32LE(64, 32);
  [64, 56, 2].forEach((value, index) => header.writeUInt16LE(value, 52 + 2 * index));
  const text = Buffer.alloc(8);
  code(answer).copy(text);
  return Buffer.concat([
    header,
    longs(1 + 7 * 2 ** 32, 0, 0, 0, size, size, 0x1_0000),
    longs(2 + 6 * 2 ** 32, at.dynamic, at.dynamic, at.dynamic, 7 * 16, 7 * 16, 8),
    // SONAME, HASH, STRTAB, SYMTAB, STRSZ, SYMENT
    longs(14, 1, 4, at.hash, 5, at.names, 6, at.symbols, 10, names.length, 11, 24, 0, 0),
    ...[1, 2, 1, 0, 0, 0].map(word),
    longs(0, 0, 0),
    // A function for all, in some section, and its address.
    longs(14 + 0x12 * 2 ** 32 + 2 ** 48, at.code, 8),
    text,
    names,
  ]);
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

function word(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

function longs(...values: readonly number[]): Buffer {
  const all = Buffer.alloc(8 * values.length);
  values.forEach((value, index) => all.writeBigUInt64LE(BigInt(value), 8 * index));
  return all;
}
