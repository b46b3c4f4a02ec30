// Builds dist/: the CLI (split, dependencies external) and the manager (one self-contained file).
import { rmSync, existsSync } from 'node:fs';
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

const common = { bundle: true, platform: 'node', target: 'node22.13', format: 'esm', logLevel: 'warning' };
await build({
  ...common,
  entryPoints: { cli: 'src/cli/main.ts' },
  outdir: 'dist',
  splitting: true,
  packages: 'external',
  sourcemap: true,
  chunkNames: 'chunks/[name]-[hash]',
  outExtension: { '.js': '.mjs' },
});
await build({
  ...common,
  entryPoints: ['src/manager/main.ts'],
  outfile: 'dist/manager.mjs',
  minifySyntax: true,
  legalComments: 'eof',
  loader: { '.node': 'empty' },
  // gRPC and protobuf serve only BuildKit's sessions and output, ssh2 only dockerode's own ssh protocol, the last two
  // only contexts that dockerode packs itself: the manager uses none of them.
  alias: Object.fromEntries(
    ['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'ssh2', 'tar-fs', '@balena/dockerignore'].map(
      (name) => [name, empty],
    ),
  ),
  plugins: [withoutUnusedMetrics],
  banner: {
    js: "import { createRequire as __cr } from 'node:module'; import { fileURLToPath as __fu } from 'node:url'; import { dirname as __dn } from 'node:path'; const require = __cr(import.meta.url); const __filename = __fu(import.meta.url); const __dirname = __dn(__filename);",
  },
});
