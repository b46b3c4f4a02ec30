import { organizationUrl } from '../../shared/azure/url.ts';
import { FleetError } from '../../shared/base/errors.ts';

/** An organization, and the project in the pasted URL. */
export interface Pasted {
  readonly organization: string;
  readonly project?: string;
}

/**
 * Parses an organization from its name, the URL of any of its pages, a repository URL (HTTPS with or without a user, both
 * SSH forms), or the forms of `az` and Visual Studio. Throws a usage error.
 */
export function readOrganization(text: string): Pasted {
  const typed = text.trim().replace(/^["'<]+|["'>]+$/g, '');
  const [, owner, project] =
    /^(?:ssh:\/\/)?[^@\s]+@(?:vs-)?ssh\.(?:dev\.azure|visualstudio)\.com(?::22)?[:/]v3\/([^/]+)\/([^/]+)/i.exec(
      typed,
    ) ?? [];
  if (owner !== undefined) return withProject(`https://dev.azure.com/${owner}`, project);
  // Names contain no characters that need encoding: organizationUrl throws for them.
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

/** Parses the project; the URL of a repository with its project's name omits the project. */
function inOrganization(organization: string, [first, second]: readonly string[]): Pasted {
  return withProject(organization, first?.toLowerCase() === '_git' ? second : first);
}

/** Pages that only projects have: the part before them is the project. */
const ofProjects =
  /^_(git|build|boards|workitems|backlogs|sprints|wiki|release|releases|versionControl|testPlans|dashboards|library|environments)$/i;

/** Parses a server URL. Without such a page a project looks like a collection: the server reports the error later. */
function onServer(origin: string, parts: readonly string[]): Pasted {
  const page = parts.findIndex((part) => part.startsWith('_'));
  const before = page === -1 ? parts : parts.slice(0, page);
  if (page > 1 && ofProjects.test(parts[page] ?? ''))
    return withProject([origin, ...before.slice(0, -1)].join('/'), before.at(-1));
  return { organization: organizationUrl([origin, ...before].join('/')) };
}

/** Adds the project, unless the part is a page of the organization: these begin with an underscore. */
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

/** Returns the mistake in the typed text with its fix, or undefined. */
export function organizationMistake(text: string): string | undefined {
  if (text.trim() === '') return 'A name, or the URL of any of its pages';
  try {
    readOrganization(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { next, what } = error.problem;
    return next === undefined ? what : `${what}: ${next}`;
  }
}
