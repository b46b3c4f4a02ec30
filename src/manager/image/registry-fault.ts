import type { Problem } from '../../shared/base/errors.ts';
import { registryOf } from '../../shared/image/reference.ts';

interface PullRequest {
  readonly image: string;
  /** The user of the request; undefined: anonymous. */
  readonly user: string | undefined;
}

interface Rule {
  readonly match: RegExp;
  readonly problem: (registry: string, request: PullRequest) => Omit<Problem, 'seen'>;
}

/**
 * Messages of Docker Engines 20.10 to 29 and containerd about a failed pull: the registry's codes (OCI distribution
 * specification, "Error Codes") or Go's texts for network errors. The first match decides.
 */
const rules: readonly Rule[] = [
  {
    match: /toomanyrequests|too many requests|\b429\b/i,
    problem: (registry, { image, user }) => ({
      code: 'registry.limit',
      what: `${registry} limits pulls: ${image}`,
      expected: `a pull by ${user ?? 'an anonymous user'}`,
      next:
        user === undefined
          ? `wait, or add a user for ${registry} under registries: in the inventory, which has a higher limit`
          : 'retried automatically; a mirror (mirrors.images) has no such limit',
    }),
  },
  {
    match: /http: server gave HTTP response to HTTPS client/i,
    problem: (registry, { image }) => ({
      code: 'registry.plain-http',
      what: `${registry} uses plain http, which Docker does not accept: ${image}`,
      expected: 'https',
      next: 'install a certificate on the registry, or add it to insecure-registries in /etc/docker/daemon.json of the hosts',
    }),
  },
  {
    match: /x509:|certificate (?:signed by unknown|has expired|is not valid)|tls: /i,
    problem: (registry, { image }) => ({
      code: 'registry.certificate',
      what: `the certificate of ${registry} is not trusted: ${image}`,
      expected: 'a certificate that the host trusts',
      next: 'set ca: in the inventory to its certificate authority, then run `azp-fleet provision`',
    }),
  },
  {
    match:
      /unauthorized|authentication required|no basic auth credentials|incorrect username or password|\b401\b/i,
    problem: refusedLogin,
  },
  { match: /denied|insufficient_scope|authorization failed|forbidden|\b403\b/i, problem: refusedImage },
  {
    match:
      /manifest unknown|name unknown|not found|no such manifest|no matching manifest|does not exist|\b404\b/i,
    problem: (registry, { image }) => ({
      code: 'registry.not-found',
      what: `${registry} has no ${image}`,
      expected: "an image of this name and tag, for this host's architecture",
      next: 'correct its name and tag in the inventory, or push it; retried automatically',
    }),
  },
  {
    match:
      /no such host|connection refused|connection reset|i\/o timeout|timeout|deadline exceeded|no route to host|network is unreachable|server misbehaving|temporary failure|proxyconnect|\bEOF\b|\b50[234]\b/i,
    problem: (registry, { image }) => ({
      code: 'registry.unreachable',
      what: `the host cannot reach ${registry}: ${image}`,
      expected: 'an answer over https',
      next: `run on the host: curl -sSI https://${registry === 'docker.io' ? 'registry-1.docker.io' : registry}/v2/`,
    }),
  },
];

function refusedLogin(registry: string, { image, user }: PullRequest): Omit<Problem, 'seen'> {
  if (user === undefined) return loginMissing(registry, image);
  return {
    code: 'registry.password',
    what: `${registry} rejected the password of user ${user}: ${image}`,
    expected: `the current password or token of ${user}`,
    next: `correct registries: ${registry}: in the inventory, then run \`azp-fleet provision\``,
  };
}

function refusedImage(registry: string, { image, user }: PullRequest): Omit<Problem, 'seen'> {
  if (user === undefined) return loginMissing(registry, image);
  return {
    code: 'registry.denied',
    what: `${registry} denies user ${user} access to ${image}, or has no such image`,
    expected: `pull access for ${user}`,
    next: `grant it in ${registry}, or correct the image or the user in the inventory, then run \`azp-fleet provision\``,
  };
}

function loginMissing(registry: string, image: string): Omit<Problem, 'seen'> {
  return {
    code: 'registry.password',
    what: `${registry} requires a login, and the inventory has none: ${image}`,
    expected: 'a user and a password, unless the image name is wrong',
    next: `add ${registry} under registries: in the inventory, with user and secret, then run \`azp-fleet provision\``,
  };
}

/** Returns the problem behind a failed pull. Undefined: the message is not about a registry. Pure. */
export function registryProblem(seen: string, request: PullRequest): Problem | undefined {
  const registry = registryOf(request.image);
  const rule = rules.find(({ match }) => match.test(seen));
  return rule && { ...rule.problem(registry, request), seen };
}

/** Returns the image that a failed step of a build could not pull; undefined: the step pulls none. */
export function imageOfStep(
  heading: string | undefined,
  args: Readonly<Record<string, string>>,
): string | undefined {
  const found = /^Step \d+\/\d+ : (?:FROM (?:--platform=\S+ )?|COPY .*--from=)(\S+)/i.exec(
    heading ?? '',
  )?.[1];
  const variable = /^\$\{?(\w+)\}?$/.exec(found ?? '')?.[1];
  return variable === undefined ? found : args[variable];
}
