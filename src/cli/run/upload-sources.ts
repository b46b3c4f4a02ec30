import { resolve } from 'node:path';

import { fromNetwork, type UploadSources } from '../../fleet/artifacts/upload-sources.ts';
import { openBundle } from '../../fleet/bundle/archive.ts';
import { fromBundle } from '../../fleet/bundle/from-bundle.ts';
import type { Context } from '../../shared/base/context.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import type { OpenFleet } from './fleet.ts';
import type { Connected } from './with-hosts.ts';

/** Progress of checking a bundle is shown at every tenth. */
const tenth = 10;

/** Returns the sources of uploads: --bundle, or the network. */
export async function uploadSources(
  context: Context,
  { options, inventory }: CommandInput,
  { fleet, caPem, emit }: OpenFleet & Pick<Connected, 'emit'>,
  { cache, folders }: { readonly cache: string; readonly folders: readonly string[] },
): Promise<UploadSources> {
  const { signal, clock, env, cwd } = context;
  const note = (text: string): void => emit({ kind: 'note', text });
  const file = options.string('bundle');
  if (file === undefined) {
    const site = { proxy: fleet.proxy, caPem, registry: fleet.mirrors.npm };
    return fromNetwork({ cache, folders, now: clock.wall(), env, signal, note, site });
  }
  let shown = 0;
  const onProgress = (done: number, total: number): void => {
    const now = Math.floor((tenth * done) / total);
    if (now > shown && total > 1e9) note(`checking ${file}: ${now * 10} %`);
    shown = now;
  };
  const bundle = await openBundle(resolve(cwd, file), { signal, onProgress });
  const again = `make it again where there is a network: azp-fleet bundle ${quote(inventory)} -o ${quote(file)}`;
  return fromBundle(bundle, { again, cache, folders, now: clock.wall() });
}
