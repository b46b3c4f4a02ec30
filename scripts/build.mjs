// Builds dist/: the CLI (one part per command, and shared parts), the manager (one file), and the licenses of both.
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** commander can start other programs; ours has none. */
const withoutPrograms = {
  name: 'without-programs',
  setup({ onResolve }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes('/node_modules/commander/') ? { path: join(root, empty) } : undefined,
    );
  },
};

/**
 * Adds what `--help` loads to each part that is loaded later: what they share is then one file, not one for each set of
 * its users.
 */
const oneStart = {
  name: 'one-start',
  setup({ onLoad }) {
    onLoad({ filter: /\/(?:src\/cli\/commands\/[^/]+\.ts|inquirer\/dist\/index\.js)$/ }, ({ path }) => ({
      contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(join(root, 'src/cli/main.ts'))};\n`,
      loader: 'ts',
    }));
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
 * contexts that dockerode packs itself: neither program uses them. Nor does the CLI open an editor, or draw by listr2's
 * own renderer.
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
  alias: without([...unused, '@inquirer/editor', 'log-update', 'cli-truncate', 'wrap-ansi']),
  plugins: [lazyPackages, oneStart, withoutPrograms],
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
    writeFileSync(file, withPlainBuiltins(readFileSync(file, 'utf8')));
writeFileSync('dist/licenses.txt', licensesOf([cli, manager]));

/**
 * Gets Node's own modules without `import`, which reads every member of a module and so loads what each needs: undici for
 * node:http, worker threads for node:util, standard input for node:process.
 */
function withPlainBuiltins(code) {
  return code.replaceAll(
    /^import (?:(\w+)(?:, )?)?(?:\* as (\w+)|(\{[^}]*\}))? from ("[^"]+");$/gm,
    (statement, all, namespace, members, name) => {
      if (!isBuiltin(JSON.parse(name))) return statement;
      const names = [all, namespace, members?.replaceAll(' as ', ': ')].filter(Boolean);
      return `const ${names.map((each) => `${each} = process.getBuiltinModule(${name})`).join(', ')};`;
    },
  );
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
      const texts = globSync('{licen[cs]e,LICEN[CS]E,Licen[cs]e}*', { cwd: folder }).toSorted();
      const title = [`${name} ${version}`, license].filter(Boolean).join(': ');
      return [title, ...texts.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}
