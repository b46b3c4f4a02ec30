import { resolve } from 'node:path';

import type { Context } from '../../../shared/base/context.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { openBundle } from '../../../fleet/bundle/archive.ts';
import { bundleText } from '../../render/bundle/bundle-text.ts';
import type { Result } from '../../result.ts';

/** What a bundle holds. Nobody is contacted. */
export async function showBundle({ cwd, signal, stdout }: Context, named: string): Promise<Result> {
  const file = resolve(cwd, named);
  const { manifest } = await openBundle(file, { signal });
  return {
    exitCode: ExitCode.ok,
    json: { file, bundle: manifest },
    text: () => bundleText(file, manifest, stdout.columns ?? Infinity),
  };
}
