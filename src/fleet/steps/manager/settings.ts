import { sha256 } from '../../../shared/base/digest.ts';
import type { ImageConfig, ManagerConfig } from '../../../shared/contract/config.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Change } from '../change.ts';
import { certificateDetails, textDiff, written } from '../description.ts';
import { describeConfig } from './config-description.ts';
import { quiet, textArtifact, upload } from './parts.ts';

/** manager.json and the site's certificates beside it: key by key what becomes of them, and what follows. */
export function* settings(
  facts: Facts,
  caPem: string | undefined,
  config: { readonly text: string; readonly value: ManagerConfig },
): Iterable<Change> {
  const files = [
    // Whoever starts with the new configuration finds what it speaks of: it comes last.
    ...(caPem === undefined ? [] : [{ path: HostPaths.caBundle, text: caPem, mode: 0o644 }]),
    { path: HostPaths.config, text: config.text, mode: 0o600 },
  ].filter(({ path, text }) => facts.files[path] !== sha256(text));
  if (files.length === 0) return;
  const isNew = files.every(({ path }) => facts.files[path] === undefined);
  const differs = (path: string): boolean => files.some((file) => file.path === path);
  const description = differs(HostPaths.config)
    ? describeConfig(seenOn(facts), config.value)
    : { details: [] };
  const ca =
    caPem !== undefined && differs(HostPaths.caBundle)
      ? certificateDetails(facts, HostPaths.caBundle, caPem)
      : [];
  const reason = isNew ? 'there is none' : 'it differs from the inventory';
  yield quiet(
    'configuration',
    {
      title: "write the manager's configuration",
      why: [
        reason,
        ...(description.remark === undefined ? [] : [description.remark]),
        ...unknownAgent(config.value.image),
      ].join('; '),
      marker: isNew ? 'add' : 'change',
      details: [...ca, ...description.details],
      texts: files.map(({ path, text }) => textDiff(written(facts, path, text))),
    },
    files.map(({ path, text, mode }) => upload(textArtifact(text), path, mode)),
  );
}

function seenOn({
  files,
  texts,
  gpus,
  memoryMiB,
  manager: { status },
}: Facts): Parameters<typeof describeConfig>[0] {
  const path = HostPaths.config;
  return { digest: files[path], text: texts[path], gpus: gpus.length, memoryMiB, status };
}

/** There is nothing to hold the agent's archive to before the host has seen one. */
function unknownAgent(image: ImageConfig): readonly string[] {
  if (image.kind === 'registry' || image.agentSha256 !== '') return [];
  return [
    `the digest of agent ${image.agentVersion} is not known: the host holds it to the archive that comes first, over https`,
  ];
}
