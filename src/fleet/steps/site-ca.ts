import { sha256 } from '../../shared/base/digest.ts';
import type { Facts } from '../facts/facts.ts';
import { platformOf } from '../packages/distribution.ts';
import { type Change, runChange } from './change.ts';
import type { Desired } from './step.ts';
import { offlinePlatform } from './bundle/content.ts';
import { certificateDetails, textDiff, written } from './description.ts';

/**
 * Installs the site's certificate authority before any download, for a TLS-inspecting proxy or for mirrors and a registry with
 * private certificates. dockerd reads the system's authorities when it starts.
 */
export function* siteCa(facts: Facts, desired: Desired): Generator<Change> {
  const { proxy } = desired;
  const platform = platformOf(facts);
  const packages = platform && offlinePlatform(platform, desired).packages;
  if (packages === undefined || proxy.caPem === undefined || !lacksSiteCa(facts, desired)) return;
  const { trust } = packages;
  yield runChange(
    'driver',
    'site-ca',
    {
      title: "trust the site's certificate authority",
      why: hasFile(facts, trust.file, proxy.caPem)
        ? `programs do not trust ${trust.file} yet`
        : `${trust.file} ${facts.files[trust.file] === undefined ? 'is missing' : 'differs'}`,
      disturbs: 'nothing',
      marker: facts.files[trust.file] === undefined ? 'add' : 'change',
      details: certificateDetails(facts, trust.file, proxy.caPem),
      texts: [textDiff(written(facts, trust.file, proxy.caPem))],
    },
    { script: trust.script(proxy.caPem, proxy), timeoutS: 900, writes: packages.folders },
  );
}

/** Returns whether the host lacks the authority; a running dockerd must be restarted after its installation. */
export function lacksSiteCa(facts: Facts, { proxy: { caPem } }: Desired): boolean {
  const trust = platformOf(facts)?.packages.trust;
  if (trust === undefined || caPem === undefined) return false;
  return !hasFile(facts, trust.file, caPem) || !facts.siteCaTrusted;
}

function hasFile({ files }: Facts, path: string, text: string): boolean {
  return files[path] === sha256(text);
}
