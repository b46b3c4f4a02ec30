import type { ImageConfig } from '../../../shared/contract/config.ts';
import { isDowngrade } from '../told/downgrade.ts';
import { item, type Item } from '../told/items.ts';

type Build = Extract<ImageConfig, { kind: 'build' }>;
type Registry = Extract<ImageConfig, { kind: 'registry' }>;

/** Where the agents' image comes from, what it is made of, and whether its agent becomes an older one. */
export function imageItems(from: ImageConfig | undefined, to: ImageConfig | undefined): readonly Item[] {
  if (from?.kind === 'build' && to?.kind === 'build') return buildItems(from, to);
  if (from?.kind === 'registry' && to?.kind === 'registry') return registryItems(from, to);
  return item('image', from && imageText(from), to && imageText(to));
}

function registryItems(from: Registry, to: Registry): readonly Item[] {
  const { builtBy } = to;
  if (from.reference === to.reference) return item('image is built by', from.builtBy, builtBy);
  return item('image', from.reference, to.reference, builtBy && `${builtBy} builds it`);
}

function buildItems(from: Build, to: Build): readonly Item[] {
  const older = isDowngrade(from.agentVersion, to.agentVersion);
  const sameVersion = from.agentVersion === to.agentVersion;
  return [
    ...item('agent version', from.agentVersion, to.agentVersion, older ? 'a downgrade' : undefined),
    ...(sameVersion ? item('agent sha256', short(from.agentSha256), short(to.agentSha256)) : []),
    ...item('mirrors.agent', downloadsOf(from), downloadsOf(to)),
    ...item('baseImage', from.base, to.base),
    ...item('mirrors.images', from.registry, to.registry),
    ...item('mirrors.apt', from.aptMirror, to.aptMirror),
    ...topItems(from.top, to.top),
  ];
}

/** What stands before the version in the address of the agent. */
function downloadsOf({ agentUrl, agentVersion }: Build): string {
  const [base = '', ...rest] = agentUrl.split(`/agent/${agentVersion}/`);
  return rest.length === 1 ? base : agentUrl;
}

function topItems(from: Build['top'], to: Build['top']): readonly Item[] {
  if (from === undefined || to === undefined) return item('dockerfile', from?.name, to?.name);
  return [
    ...item('dockerfile', from.name, to.name),
    ...item(`files of ${to.name}`, short(from.folder), short(to.folder)),
    ...item('image is pushed to', from.push, to.push),
  ];
}

/** Where it comes from, in a few words. */
export function imageText(image: ImageConfig): string {
  if (image.kind === 'registry')
    return image.builtBy === undefined ? image.reference : `${image.reference}, built by ${image.builtBy}`;
  const top = image.top === undefined ? '' : `, ${image.top.name} on top`;
  return `built here with agent ${image.agentVersion}${top}`;
}

/** Of a digest. */
function short(digest: string): string {
  return digest === '' ? 'not known' : digest.slice(0, 12);
}
