// The entry point of every npm script of a checkout. Plain JavaScript that an old Node can read: it installs what is
// missing (npm packages, a Node new enough), builds, and runs the task on that Node.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);

const [task = '', ...args] = process.argv.slice(2);

/** 22.18 runs .ts files; the built CLI and the unit tests need less (package.json, engines). */
const neededNode = { major: 22, minor: task === 'cli' ? 13 : 18 };
const broughtNode = '24.21.0';
/** Node versions of the unit tests: the lowest minor version of package.json's engines, and each later line. */
const testedNodes = ['22.13.1', broughtNode, '26.10.0'];
/** Node versions that can start a clone. */
const tooOldNode = '20.20.2';
const bin = join(root, 'node_modules', '.bin');
const cache = join(root, 'node_modules', '.cache');

/** CI stops a run after 90 minutes; a run that stops itself before that still prints its totals. */
const ciMinutes = 84;

/** Parts of `npm run test:lab`, each at most half an hour on two cores. */
const labShards = 4;

/** A shard takes up to this many times as long as `npm test` (measured: 29 and 13 minutes). */
const shardPerTest = 2.3;

/** Damages the pure core for `test:mutants`. Brought for that alone: 60 MiB, 177 packages. */
const strykerVersion = '10.1.1';

const tasks = {
  cli: () => sayWhereTheCliIs(),
  check: () => check(),
  'test:unit': () => {
    bringOracles();
    unitTests(args);
  },
  'test:nodes': () => {
    bringOracles();
    process.env.AZP_FLEET_TEST_MATRIX = 'all';
    unitTestsOnEachNode(args);
  },
  'test:package': () => packageTests(args),
  test: () => {
    check();
    bringOracles();
    unitTests([]);
    packageTests([]);
    labTests('lab-core', []);
    say(
      'left to "npm run test:lab": the long lab tests (test/lab/long), all systems of the matrix, other Node versions',
    );
  },
  'test:lab': () => longLabTests(args),
  ci: () => {
    const startedAt = Date.now();
    endsAt = startedAt + ciMinutes * 60_000;
    const shard = shardOfThisCommit();
    say(`CI: npm test, then npm run test:lab -- --shard ${shard}`);
    tasks.test();
    const tookMinutes = (Date.now() - startedAt) / 60_000;
    const needed = Math.round(tookMinutes * (1 + shardPerTest));
    if (needed <= ciMinutes) {
      say(`CI: npm run test:lab -- --shard ${shard}`);
      longLabTests(['--shard', shard]);
    } else {
      say(`CI leaves the shard out: both need ${needed} minutes on this machine, and CI has ${ciMinutes}.`);
      say(`Run it by hand: npm run test:lab -- --shard ${shard}`);
    }
  },
  'test:mutants': () => {
    bringOracles();
    node(['test/mutants/main.ts', `--stryker=${bringStryker()}`, ...args]);
  },
  demo: () => node(['practice/demo/main.ts', ...args]),
  'fake-azure': () => node(['practice/azure/main.ts', ...args]),
  bench: () => node(['bench/main.ts', ...args]),
  soak: () => node([args.includes('--model') ? 'bench/soak/model/main.ts' : 'bench/soak/main.ts', ...args]),
  schema: () => node(['scripts/write-schema.ts', ...args]),
  docs: () => node(['scripts/write-docs.ts', ...args]),
  pictures: () => node(['scripts/pictures.ts', ...args]),
};

let nodeBinary;
/** Milliseconds since the epoch, in CI alone. */
let endsAt;
const counts = { passed: 0, failed: 0, files: 0 };
if (!(task in tasks)) fail(`unknown task "${task}"; one of: ${Object.keys(tasks).join(', ')}`);
installPackages();
nodeBinary = findNode();
build();
linkBin();
tasks[task]();
if (counts.files > 0) process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);

/** Runs npm ci unless node_modules already contains what the lock file names, however it was installed. */
function installPackages() {
  const packages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const installed = join('node_modules', '.package-lock.json');
  const present = existsSync(installed) ? packages(installed) : {};
  const needed = Object.entries(packages('package-lock.json')).filter(([path]) => path !== '');
  if (needed.every(([path, { version, optional }]) => optional || present[path]?.version === version)) return;
  say('installing the npm packages (once; 20 seconds on two idle processors)');
  npm('ci');
}

/** This Node when it is new enough, else one from the npm registry, kept beside the packages and not saved. */
function findNode() {
  const enough = (version) => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major > neededNode.major || (major === neededNode.major && minor >= neededNode.minor);
  };
  if (enough(process.versions.node)) return process.execPath;
  const brought = join(bin, 'node');
  if (!existsSync(brought)) {
    say(`Node ${process.versions.node} is too old: bringing Node ${broughtNode} into node_modules (once)`);
    npm('install', '--no-save', `${nodePackage()}@${broughtNode}`);
  }
  return brought;
}

/** A Node from the npm registry in a separate folder, so that it replaces no other Node. */
function bringNode(version) {
  const present = nodeBinary === process.execPath ? process.versions.node : broughtNode;
  if (version === present) return nodeBinary;
  const name = nodePackage();
  const folder = join(cache, 'nodes', version);
  const binary = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(binary)) return binary;
  say(`bringing Node ${version} into node_modules (once)`);
  const partial = `${folder}-${process.pid}`;
  mkdirSync(partial, { recursive: true });
  npm('install', '--prefix', partial, '--no-save', '--no-package-lock', `${name}@${version}`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
  return binary;
}

/** StrykerJS in a separate folder; it finds Vitest among the checkout's packages. */
function bringStryker() {
  const folder = join('node_modules', '.cache', 'stryker', strykerVersion);
  if (existsSync(join(folder, 'node_modules'))) return folder;
  say(`bringing StrykerJS ${strykerVersion} into node_modules (once)`);
  const partial = `${folder}-${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${strykerVersion}`);
  npm('install', '--prefix', partial, '--no-save', '--no-package-lock', '--legacy-peer-deps', ...packages);
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
  return folder;
}

function nodePackage() {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch))
    fail(
      `no Node can be brought to ${process.platform} on ${process.arch}; next: install Node 24 and run this again`,
    );
  return `node-linux-${process.arch}`;
}

/**
 * Installs the programs that unit tests compare with or start: shellcheck for scripts that run as root, ssh and sshd,
 * promtool for metrics.
 */
function bringOracles() {
  const packages = { shellcheck: 'shellcheck', ssh: 'openssh-client', sshd: 'openssh-server' };
  const env = environment();
  const missing = [...Object.keys(packages), 'promtool'].filter(
    (program) => spawnSync(program, ['-V'], { env }).error !== undefined,
  );
  if (missing.length === 0) return;
  const canInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (!canInstall) return say(`${missing.join(', ')} not installed: what needs it is not checked`);
  bringPackages(packages);
  if (missing.includes('promtool') && !takePromtool())
    say('promtool is not available: checks that need it are skipped');
}

/** Installs missing programs from packages of this Debian, where available. */
function bringPackages(packages) {
  const missing = Object.keys(packages).filter((program) => spawnSync(program, ['-V']).error !== undefined);
  if (missing.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  say(`installing ${missing.join(', ')} (once)`);
  const names = missing.map((program) => packages[program]).join(' ');
  run('sh', [
    '-c',
    `apt-get -qq update && apt-get -qq install -y --no-install-recommends ${names} >/dev/null`,
  ]);
}

/** Unpacks it: an installed package would start a server. */
function takePromtool() {
  const steps = [
    'mkdir -p node_modules/.cache/promtool && cd node_modules/.cache/promtool',
    'apt-get -qq update && apt-get -qq -o APT::Sandbox::User=root download prometheus',
    'dpkg-deb --extract ./prometheus_*.deb . && mv usr/bin/promtool ../../.bin/',
    'rm -r ../promtool',
  ];
  return spawn('sh', ['-c', steps.join(' && ')]) === 0;
}

function build() {
  run(nodeBinary, ['scripts/build.mjs']);
}

/** Lets "npx azp-fleet" find the checkout's own command. */
function linkBin() {
  const link = join(bin, 'azp-fleet');
  if (existsSync(link)) return;
  mkdirSync(bin, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync('../../bin/azp-fleet.js', link);
}

function sayWhereTheCliIs() {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  say(`azp-fleet ${version} is ready
  in this folder   npx azp-fleet setup
  everywhere       ln -s "${join(root, 'bin/azp-fleet.js')}" into a folder of your PATH, then azp-fleet setup`);
}

function check() {
  step('types', [join(bin, 'tsc'), '-p', '.']);
  step('lint', [join(bin, 'oxlint'), '--type-aware', '--deny-warnings']);
  step('format', [join(bin, 'oxfmt'), '--check']);
  step('unused code', [join(bin, 'knip')]);
}

function step(name, [program, ...rest]) {
  const result = spawnSync(program, rest, { encoding: 'utf8', env: environment() });
  if (result.status === 0) return say(`${name}: ok`);
  process.stdout.write(`${result.stdout}${result.stderr}`);
  fail(`${name}: failed`);
}

function unitTestsOnEachNode(rest, versions = testedNodes) {
  const binaries = versions.map((version) => [version, bringNode(version)]);
  for (const [version, binary] of binaries) {
    say(`unit tests on Node ${version}`);
    unitTests(rest, binary);
  }
}

/** What npm packs and what a clone brings, installed and run on each Node. */
function packageTests(rest) {
  bringPackages({ bash: 'bash', zsh: 'zsh', fish: 'fish', tmux: 'tmux', man: 'man-db' });
  const nodes = [...testedNodes, tooOldNode].map((version) => [version, bringNode(version)]);
  process.env.AZP_FLEET_TEST_NODES = JSON.stringify(nodes);
  vitest(['--project', 'package', ...rest]);
}

/** What `npm test` leaves out, or with `--shard K/N` a part of it: the first one has the other Node versions. */
function longLabTests(rest) {
  const at = rest.indexOf('--shard');
  const shard = at === -1 ? '1/1' : (rest[at + 1] ?? '');
  if (!/^\d+\/\d+$/.test(shard)) fail('--shard takes K/N, for example 1/4');
  const runsFiles = rest.some((each) => each !== '--shard' && each !== shard);
  if (shard.startsWith('1/') && !runsFiles) {
    bringOracles();
    const versions = testedNodes.filter((version) => version !== broughtNode);
    process.env.AZP_FLEET_TEST_MATRIX = 'all';
    unitTestsOnEachNode([], versions);
  }
  labTests('lab-long', rest);
}

/** More files at a time than processors: most of their time they wait for hosts. */
function labTests(project, rest) {
  const workers = `--maxWorkers=${Math.max(3, availableParallelism())}`;
  const reporter = '--reporter=./test/lab/support/durations-reporter.ts';
  vitest(['--project', project, workers, reporter, ...rest]);
}

/** Each landing runs another shard, so that a handful of landings run them all. */
function shardOfThisCommit() {
  const { stdout } = spawnSync('git', ['rev-list', '--count', 'HEAD'], { encoding: 'utf8' });
  return `${(Number(stdout) % labShards) + 1}/${labShards}`;
}

/** Many of these wait for sockets, not for a processor. A complete run is compared with docs/faults.md. */
function unitTests(rest, binary = nodeBinary) {
  const faults = rest.length === 0 ? ['--reporter=./test/support/faults-reporter.ts'] : [];
  vitest(['--project', 'unit*', '--maxWorkers=4', ...faults, ...rest], binary);
}

function vitest(rest, binary = nodeBinary) {
  const report = join(cache, `vitest-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  const program = join(root, 'node_modules/vitest/vitest.mjs');
  const status = spawn(binary, [program, 'run', ...reporters, ...rest], binary);
  if (existsSync(report)) {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
    counts.files += 1;
    counts.passed += numPassedTests;
    counts.failed += numFailedTests;
    rmSync(report);
  }
  if (status === 0) return;
  say(`failed on ${binary}`);
  process.stdout.write(`${counts.passed} passed, ${Math.max(1, counts.failed)} failed\n`);
  process.exit(1);
}

function node(rest) {
  const status = spawn(nodeBinary, rest);
  if (status !== 0) process.exit(status);
}

function run(program, rest) {
  if (spawn(program, rest) !== 0) fail(`failed: ${program} ${rest.join(' ')}`);
}

function npm(...rest) {
  run('npm', [...rest, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']);
}

function spawn(program, rest, binary = nodeBinary) {
  const options = { stdio: 'inherit', env: environment(binary) };
  if (endsAt === undefined) return spawnSync(program, rest, options).status ?? 1;
  const timeout = Math.max(1, endsAt - Date.now());
  const { status, error } = spawnSync(program, rest, { ...options, timeout, killSignal: 'SIGINT' });
  if (error?.code === 'ETIMEDOUT') say(`stopped after ${ciMinutes} minutes in all`);
  return status ?? 1;
}

/** The chosen Node and the packages' programs come first in PATH, for everything below. */
function environment(binary = nodeBinary) {
  const first = binary === undefined || binary === process.execPath ? [bin] : [dirname(binary), bin];
  return { ...process.env, PATH: [...first, process.env.PATH].join(delimiter) };
}

function say(text) {
  process.stdout.write(`» ${text}\n`);
}

function fail(text) {
  process.stderr.write(`✗ ${text}\n`);
  process.exit(1);
}
