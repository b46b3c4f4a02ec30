import { organizationUrl } from '../../shared/azure/url.ts';
import { FleetError } from '../../shared/base/errors.ts';

/** An organization, and the project that stood beside it in what was pasted. */
export interface Pasted {
  readonly organization: string;
  readonly project?: string;
}

/**
 * The organization in whatever was pasted: its name, the address of any page, a repository's address for git (HTTPS with or
 * without a user, SSH of either kind), `az`'s and Visual Studio's forms. Throws a usage error where there is none.
 */
export function readOrganization(text: string): Pasted {
  const typed = text.trim().replace(/^["'<]+|["'>]+$/g, '');
  const [, owner, project] =
    /^(?:ssh:\/\/)?[^@\s]+@(?:vs-)?ssh\.(?:dev\.azure|visualstudio)\.com(?::22)?[:/]v3\/([^/]+)\/([^/]+)/i.exec(
      typed,
    ) ?? [];
  if (owner !== undefined) return withProject(`https://dev.azure.com/${owner}`, project);
  // What has to be encoded is in no name, and no address: that is told.
  if (!/[/.:]/.test(typed) && encodeURIComponent(typed) === typed)
    return { organization: organizationUrl(`https://dev.azure.com/${typed}`) };
  const url = withScheme(typed);
  if (url === undefined) return { organization: organizationUrl(typed) };
  if (url.password !== '') return { organization: organizationUrl(typed) };
  // Clone addresses name the organization again as their user.
  url.username = '';
  return fromUrl(url);
}

function fromUrl(url: URL): Pasted {
  const parts = url.pathname.split('/').filter((part) => part !== '');
  const origin = `${url.protocol}//${url.host}`;
  if (url.hostname === 'dev.azure.com') return inOrganization(`${origin}/${parts[0] ?? ''}`, parts.slice(1));
  if (!url.hostname.endsWith('.visualstudio.com')) return onServer(origin, parts);
  const [first = '', ...rest] = parts;
  return inOrganization(origin, first.toLowerCase() === 'defaultcollection' ? rest : parts);
}

/** A repository that is called like its project has an address without it. */
function inOrganization(organization: string, [first, second]: readonly string[]): Pasted {
  return withProject(organization, first?.toLowerCase() === '_git' ? second : first);
}

/** Pages that only projects have: the part before them is one. */
const ofProjects =
  /^_(git|build|boards|workitems|backlogs|sprints|wiki|release|releases|versionControl|testPlans|dashboards|library|environments)$/i;

/** Of a server's address without such a page nothing tells a project from a collection: the server says then what is wrong. */
function onServer(origin: string, parts: readonly string[]): Pasted {
  const page = parts.findIndex((part) => part.startsWith('_'));
  const before = page === -1 ? parts : parts.slice(0, page);
  if (page > 1 && ofProjects.test(parts[page] ?? ''))
    return withProject([origin, ...before.slice(0, -1)].join('/'), before.at(-1));
  return { organization: organizationUrl([origin, ...before].join('/')) };
}

/** Pages of the organization itself begin with an underscore. */
function withProject(organization: string, part: string | undefined): Pasted {
  const url = organizationUrl(organization);
  const project = part === undefined || part.startsWith('_') || part === '' ? undefined : decoded(part);
  return { organization: url, ...(project === undefined ? {} : { project }) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function withScheme(text: string): URL | undefined {
  const whole = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : undefined;
}

/** What is wrong with what was typed, or undefined. */
export function organizationMistake(text: string): string | undefined {
  if (text.trim() === '') return 'A name, or the address of any of its pages';
  try {
    readOrganization(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { next, what } = error.problem;
    const said = next ?? what;
    return said.charAt(0).toUpperCase() + said.slice(1);
  }
}
