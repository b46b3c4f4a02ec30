// Builds dist/: the CLI (one part per command, and shared parts), the manager (one file), and the licenses of both. It also runs
// on Node 20: npx starts it with the machine's Node, and shows nothing of a failure.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);
if (!existsSync('src')) process.exit(0);

const { build } = await import('esbuild');
rmSync('dist', { recursive: true, force: true });

const empty = './scripts/empty-module.mjs';

/** prom-client's index loads what watches the process itself, and OpenTelemetry with it; the manager has neither. */
const withoutUnusedMetrics = {
  name: 'without-unused-metrics',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/lib\/(cluster|defaultMetrics|pushgateway|summary)$/ }, ({ importer }) =>
      importer.endsWith('/prom-client/index.js') ? { path: join(root, empty) } : undefined,
    );
  },
};

/**
 * Packages whose modules run at their first call: string-width builds tables of all emoji, which takes longer than a
 * whole `--help`. Their default export must be a function.
 */
const lazyPackages = {
  name: 'lazy-packages',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^string-width$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'lazy' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'lazy' }, ({ path }) => ({
      contents: `export default (...given) => require(${JSON.stringify(path)}).default(...given);`,
      resolveDir: root,
    }));
  },
};

/** Parts of libraries that the CLI does not use: commander's start of other programs, and listr2's own renderer. */
const withoutUnusedParts = {
  name: 'without-unused-parts',
  setup({ onResolve }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes('/node_modules/commander/') ? { path: join(root, empty) } : undefined,
    );
    // It imports them when it draws, so that each would be a file.
    onResolve({ filter: /^(?:log-update|cli-truncate|wrap-ansi)$/ }, ({ importer }) =>
      importer.includes('/node_modules/listr2/') ? { path: 'node:module', external: true } : undefined,
    );
  },
};

/** Commands that load nearly the same. */
const ofPlans = ['bundle', 'plan', 'provision', 'reboot', 'remove', 'status'].map(
  (name) => `commands/${name}`,
);
const withoutInventory = ['diagnose', 'explain', 'version'];

/**
 * Adds to each part that is loaded later what is loaded anyway: what `--help` loads, what opens the inventory, and the
 * commands of plans to each other. Otherwise esbuild makes a file for each set of parts that share a module.
 */
const fewFiles = {
  name: 'few-files',
  setup({ onLoad }) {
    const command = /\/src\/cli\/(commands\/(.*))\.ts$/;
    const later = /\/src\/cli\/commands\/[^/]+\.ts$|\/inquirer\/dist\/index\.js$/;
    onLoad({ filter: later }, ({ path }) => {
      const [, part, name] = command.exec(path) ?? [];
      const parts = ['main', ...(ofPlans.includes(part) ? ofPlans : [])];
      if (name !== undefined && !withoutInventory.includes(name)) parts.push('run/inventory', 'render/table');
      const imports = parts.map((each) => `import ${JSON.stringify(join(root, 'src/cli', `${each}.ts`))};`);
      return { contents: [readFileSync(path, 'utf8'), ...imports].join('\n'), loader: 'ts' };
    });
  },
};

const common = {
  bundle: true,
  platform: 'node',
  target: 'node22.13',
  format: 'esm',
  logLevel: 'warning',
  minifySyntax: true,
  metafile: true,
};
/**
 * gRPC and protobuf serve only BuildKit's sessions and output, ssh2 only dockerode's own ssh protocol, the next two only
 * contexts that dockerode packs itself: neither program uses them. Nor does the CLI open an editor.
 */
const unused = ['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'tar-fs', '@balena/dockerignore'];
const without = (names) => Object.fromEntries(names.map((name) => [name, empty]));

const cli = await build({
  ...common,
  entryPoints: { cli: 'src/cli/main.ts' },
  outdir: 'dist',
  splitting: true,
  sourcemap: true,
  chunkNames: 'chunks/[name]-[hash]',
  outExtension: { '.js': '.mjs' },
  legalComments: 'none',
  // A start without a compile cache reads and compiles every byte.
  minifyWhitespace: true,
  alias: without([...unused, '@inquirer/editor']),
  plugins: [fewFiles, lazyPackages, withoutUnusedParts],
  // The native parts of ssh2, which need a compiler: ssh2 does the same with Node's own where `require` throws.
  external: ['cpu-features', '*.node'],
  // Literals of such expressions are checked, and their tables built, where a file is read.
  supported: { 'regexp-set-notation': false, 'regexp-unicode-property-escapes': false },
  define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
  banner: { js: 'const require = process.getBuiltinModule;' },
});
const manager = await build({
  ...common,
  entryPoints: ['src/manager/main.ts'],
  outfile: 'dist/manager.mjs',
  legalComments: 'eof',
  loader: { '.node': 'empty' },
  alias: without([...unused, 'ssh2']),
  plugins: [withoutUnusedMetrics],
  banner: {
    js: "import { createRequire as __cr } from 'node:module'; import { fileURLToPath as __fu } from 'node:url'; import { dirname as __dn } from 'node:path'; const require = __cr(import.meta.url); const __filename = __fu(import.meta.url); const __dirname = __dn(__filename);",
  },
});
for (const { metafile } of [cli, manager])
  for (const file of Object.keys(metafile.outputs).filter((name) => name.endsWith('.mjs')))
    writeFileSync(file, withPlainBuiltins(readFileSync(file, 'utf8'), metafile === cli.metafile));
writeFileSync('dist/licenses.txt', licensesOf([cli, manager]));

/**
 * Gets Node's own modules without `import`, which reads every member of a module and so loads what each needs: undici for
 * node:http, worker threads for node:util, standard input for node:process. `isShort`: a program of which many runs end soon.
 */
function withPlainBuiltins(code, isShort) {
  const plain = code.replaceAll(
    /(?<![\w$.])import ?(?:([\w$]+),? ?)?(?:\* ?as ([\w$]+)|(\{[^{}]*\}))? ?from ?("[^"]+");/g,
    (statement, all, namespace, members, name) => {
      if (!isBuiltin(JSON.parse(name))) return statement;
      const late = isShort && !all && !namespace ? lateMembers(members, name) : undefined;
      if (late !== undefined) return late;
      const names = [all, namespace, members?.replaceAll(' as ', ': ')].filter(Boolean);
      return `const ${names.map((each) => `${each} = process.getBuiltinModule(${name})`).join(', ')};`;
    },
  );
  // A proxy, because `promisify` reads members of a function. In the first line: source maps count lines.
  const atFirstCall = `const atFirstCall = (real) => new Proxy(function () {}, { apply: (_, self, given) => Reflect.apply(real(), self, given), construct: (_, given) => Reflect.construct(real(), given), get: (_, key) => real()[key] });`;
  return plain.includes('= atFirstCall(') ? `${atFirstCall}${plain}` : plain;
}

/**
 * Functions and classes of modules that take milliseconds to load, and that many runs do not call: loads the module at the
 * first call. Returns undefined for other modules and members.
 */
function lateMembers(members = '', name) {
  if (!['"node:child_process"', '"node:crypto"', '"node:v8"'].includes(name)) return undefined;
  const builtin = process.getBuiltinModule(JSON.parse(name));
  const pairs = [...members.matchAll(/([\w$]+)(?: as ([\w$]+))?/g)];
  if (pairs.some(([, member]) => typeof builtin[member] !== 'function')) return undefined;
  return pairs
    .map(
      ([, member, local = member]) =>
        `const ${local} = atFirstCall(() => process.getBuiltinModule(${name}).${member});`,
    )
    .join('');
}

/** Returns the licenses of all packages of which the builds have a part. */
function licensesOf(builds) {
  const used = builds.flatMap(({ metafile: { outputs } }) =>
    Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)),
  );
  const folders = used.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)]
    .toSorted((one, other) => one.localeCompare(other))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const texts = readdirSync(folder)
        .filter((file) => /^licen[cs]e/i.test(file))
        .toSorted();
      const title = [`${name} ${version}`, license].filter(Boolean).join(': ');
      return [title, ...texts.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}
