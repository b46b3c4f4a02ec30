import type { IncomingHttpHeaders } from 'node:http';
import { refusal, type Reply } from '../http/reply.ts';
import { locations, type ResourceLocation } from './locations.ts';

/** Returns the version that a call requests in its query or its Accept header; undefined: none, or an empty one. */
export function askedVersion(query: URLSearchParams, headers: IncomingHttpHeaders): string | undefined {
  const inQuery = [...query].find(([name]) => name.toLowerCase() === 'api-version')?.[1];
  return inQuery || /[;,\s]api-version=([^;,\s]+)/iu.exec(headers.accept ?? '')?.[1];
}

/**
 * Returns the version of the answer, or the cause of a refusal. A read without a version gets the newest released one,
 * else the newest preview; every other call must name one.
 * Texts and type keys are the service's (its exceptions, and reports of users who met them).
 */
export function negotiate(
  location: ResourceLocation,
  method: string,
  asked: string | undefined,
): { readonly version: string } | { readonly refused: Reply } {
  if (asked === undefined) {
    return method === 'GET' ? { version: newest(location) } : { refused: notSpecified(method) };
  }
  const version = parse(asked);
  if (version === undefined) return { refused: nonsense(asked) };
  const { number, preview, resource } = version;
  if (isNewer(number, serverVersion)) return { refused: outOfRange(number) };
  const tooNew = isNewer(number, location.maxVersion) || resource > location.resourceVersion;
  if (tooNew || isNewer(location.minVersion, number)) return { refused: outsideRoute(location, asked) };
  if (!preview && isNewer(number, location.releasedVersion)) return { refused: previewOnly(number) };
  // Not in the caller's spelling, because it becomes part of a header.
  return { version: `${number}${preview ? '-preview' : ''}${resource === 0 ? '' : `.${resource}`}` };
}

function newest({ releasedVersion, maxVersion, resourceVersion }: ResourceLocation): string {
  return releasedVersion === '0.0' ? `${maxVersion}-preview.${resourceVersion}` : releasedVersion;
}

interface Version {
  /** `7.1` */
  readonly number: string;
  readonly preview: boolean;
  /** The number of the preview; 0 if it has none. */
  readonly resource: number;
}

/** Parses a version as the service does: a leading `v` is ignored, and `7` means 7.0. */
function parse(text: string): Version | undefined {
  const match = /^v*(\d{1,3})(?:\.(\d))?(-preview(?:\.(\d{1,6}))?)?$/iu.exec(text.trim());
  if (match === null) return undefined;
  const [, major = '', minor = '0', preview, resource = '0'] = match;
  return { number: `${Number(major)}.${minor}`, preview: preview !== undefined, resource: Number(resource) };
}

function isNewer(version: string, than: string): boolean {
  return Number(version) > Number(than);
}

const serverVersion = locations.reduce(
  (newestYet, { maxVersion }) => (isNewer(maxVersion, newestYet) ? maxVersion : newestYet),
  '1.0',
);

function refused(typeKey: string, message: string): Reply {
  return refusal(400, typeKey, message, 'Microsoft.VisualStudio.Services.WebApi');
}

function notSpecified(method: string): Reply {
  return refused(
    'VssVersionNotSpecifiedException',
    `No api-version was supplied for the "${method}" request. The version must be supplied either as part of the Accept header (e.g. "application/json; api-version=1.0") or as a query parameter (e.g. "?api-version=1.0").`,
  );
}

function nonsense(asked: string): Reply {
  return refused(
    'VssInvalidApiResourceVersionException',
    `Invalid api version string: "${asked}". Api version string must be in the format: {Major}.{Minor}[-preview[.{ResourceVersion}]].`,
  );
}

function outOfRange(number: string): Reply {
  return refused(
    'VssVersionOutOfRangeException',
    `The requested REST API version of ${number} is out of range for this server. The latest REST API version this server supports is ${serverVersion}.`,
  );
}

function outsideRoute({ routeTemplate }: ResourceLocation, asked: string): Reply {
  return refused(
    'VssVersionOutOfRangeException',
    `The request matched route ${routeTemplate}, but the requested REST API version ${asked} was outside the valid version range for this route.`,
  );
}

function previewOnly(number: string): Reply {
  return refused(
    'VssInvalidPreviewVersionException',
    `The requested version "${number}" of the resource is under preview. The -preview flag must be supplied in the api-version for such requests. For example: "${number}-preview"`,
  );
}
