import { delimiter, dirname } from 'node:path';
import { env } from 'node:process';

import { z } from 'zod';

export interface TestNode {
  readonly version: string;
  /** Path of the program. */
  readonly binary: string;
}

/** What scripts/dev.mjs brought: each line of Node that the package takes, and one that is too old. */
export function broughtNodes(): { readonly taken: readonly TestNode[]; readonly tooOld: TestNode } {
  const given = env['AZP_FLEET_TEST_NODES'];
  if (given === undefined)
    throw new Error('these tests run on several Nodes; next: npm run test:package, which brings them');
  const nodes = z.array(z.tuple([z.string(), z.string()])).parse(JSON.parse(given));
  const all = nodes.map(([version, binary]) => ({ version, binary }));
  const tooOld = all.at(-1);
  if (tooOld === undefined) throw new TypeError('no Node was brought');
  return { taken: all.slice(0, -1), tooOld };
}

/** What a shell has in which this Node, and then these folders, come first in PATH. Of npm's own around it, nothing. */
export function shellWith(node: TestNode, ...folders: readonly string[]): NodeJS.ProcessEnv {
  const own = Object.entries(env).filter(([name]) => !name.toLowerCase().startsWith('npm_'));
  const checkout = `node_modules/.bin`;
  const path = (env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.endsWith(checkout));
  return {
    ...Object.fromEntries(own),
    PATH: [dirname(node.binary), ...folders, ...path].join(delimiter),
  };
}
