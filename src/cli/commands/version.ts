import { arch, platform, versions } from 'node:process';

import { nodeVersion } from '../../fleet/artifacts/node-runtime.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import { ourRelease } from '../../shared/contract/release.ts';
import type { Result } from '../result.ts';

/** Prints the versions that a bug report needs. */
export function run(): Promise<Result> {
  const { version, protocol } = ourRelease;
  const json = { protocol, node: versions.node, platform, arch, hostsNode: nodeVersion };
  const text = () =>
    `azp-fleet ${version}, protocol ${protocol}\nNode ${json.node} on ${platform} ${arch}; hosts get Node ${nodeVersion}\n`;
  return Promise.resolve({ exitCode: ExitCode.ok, json, text });
}
