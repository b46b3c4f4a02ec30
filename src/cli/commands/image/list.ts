import type { Context } from '../../../shared/base/context.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { bases } from '../../../shared/image/choose.ts';
import { baseTable } from '../../render/images.ts';
import type { Result } from '../../result.ts';

/** Shows the bases that agent images can be built upon. Contacts nobody. */
export function run({ stdout }: Context): Promise<Result> {
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { ...bases },
    text: () => baseTable(bases, stdout.columns ?? Infinity),
  });
}
