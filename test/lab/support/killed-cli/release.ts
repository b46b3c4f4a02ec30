import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

import { repository } from '../../../../practice/lab/paths.ts';

const here = import.meta.dirname;
/** The files that the command that kills itself replaces. */
const others = new Map([
  [join(repository, 'src/fleet/ssh/create-transport.ts'), join(here, 'transport.ts')],
  [join(repository, 'src/shared/azure/create-client.ts'), join(here, 'client.ts')],
]);

const withOtherEnds: Plugin = {
  name: 'with-other-ends',
  setup(making) {
    making.onResolve({ filter: /create-(transport|client)\.ts$/ }, ({ path, resolveDir, importer }) => {
      const other = others.get(resolve(resolveDir, path));
      return other === undefined || importer === other ? undefined : { path: other };
    });
  },
};

/** Builds, into a copy of the package, a CLI that kills itself and its scripts on the host after each new effect. */
export async function buildKilledCli(release: string): Promise<void> {
  await build({
    entryPoints: [join(repository, 'src/cli/main.ts')],
    outfile: join(release, 'dist/cli.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node22.13',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
    plugins: [withOtherEnds],
  });
}
