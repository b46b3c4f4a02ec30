import type { Problem } from '../../shared/base/errors.ts';
import { registryOf } from '../../shared/image/reference.ts';

interface Asked {
  readonly image: string;
  /** Whom the registry was told; undefined: nobody. */
  readonly user: string | undefined;
}

interface Rule {
  readonly match: RegExp;
  readonly problem: (registry: string, asked: Asked) => Omit<Problem, 'seen'>;
}

/**
 * What Docker Engines 20.10 to 29 and containerd say of a registry that does not give an image, by the registry's own
 * codes (OCI distribution specification, "Error Codes") or by Go's words for what the network did. The first that fits.
 */
const rules: readonly Rule[] = [
  {
    match: /toomanyrequests|too many requests|\b429\b/i,
    problem: (registry, { image, user }) => ({
      code: 'registry.limit',
      what: `${registry} gives no more images for now: ${image}`,
      expected: `an answer to ${user ?? 'somebody without a name'}`,
      next:
        user === undefined
          ? `wait, or give ${registry} a user under registries: in the inventory, for whom it allows more`
          : 'wait: it is tried again; a mirror (mirrors.images) has no such limit',
    }),
  },
  {
    match: /http: server gave HTTP response to HTTPS client/i,
    problem: (registry, { image }) => ({
      code: 'registry.plain-http',
      what: `${registry} speaks plain http, which Docker does not accept: ${image}`,
      expected: 'https',
      next: `give the registry a certificate, or allow it in insecure-registries of the hosts' /etc/docker/daemon.json`,
    }),
  },
  {
    match: /x509:|certificate (?:signed by unknown|has expired|is not valid)|tls: /i,
    problem: (registry, { image }) => ({
      code: 'registry.certificate',
      what: `the certificate of ${registry} is not trusted: ${image}`,
      expected: 'one that the host trusts',
      next: 'name the authority that signed it as ca: in the inventory, then: azp-fleet provision',
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
      next: 'correct its name and tag in the inventory, or push it there; it is asked for again',
    }),
  },
  {
    match:
      /no such host|connection refused|connection reset|i\/o timeout|timeout|deadline exceeded|no route to host|network is unreachable|server misbehaving|temporary failure|proxyconnect|\bEOF\b|\b50[234]\b/i,
    problem: (registry, { image }) => ({
      code: 'registry.unreachable',
      what: `the host cannot reach ${registry}: ${image}`,
      expected: 'an answer over https',
      next: `try it on the host: curl -sSI https://${registry === 'docker.io' ? 'registry-1.docker.io' : registry}/v2/`,
    }),
  },
];

function refusedLogin(registry: string, { image, user }: Asked): Omit<Problem, 'seen'> {
  if (user === undefined) return unknownHere(registry, image);
  return {
    code: 'registry.password',
    what: `${registry} does not accept the password of user ${user}: ${image}`,
    expected: `the present password or token of ${user}`,
    next: `correct what registries: ${registry}: points at in the inventory, then: azp-fleet provision`,
  };
}

function refusedImage(registry: string, { image, user }: Asked): Omit<Problem, 'seen'> {
  if (user === undefined) return unknownHere(registry, image);
  return {
    code: 'registry.denied',
    what: `${registry} does not let user ${user} have ${image}, or has no such image`,
    expected: `the right of ${user} to it`,
    next: `grant it in ${registry}, or correct the image or the user in the inventory, then: azp-fleet provision`,
  };
}

function unknownHere(registry: string, image: string): Omit<Problem, 'seen'> {
  return {
    code: 'registry.password',
    what: `${registry} asks who we are, and the inventory does not say: ${image}`,
    expected: 'a user and a password, unless the name of the image is wrong',
    next: `add ${registry} under registries: in the inventory, with user and secret, then: azp-fleet provision`,
  };
}

/** What a registry's refusal means. Undefined: Docker speaks of something else. Pure. */
export function registryProblem(seen: string, asked: Asked): Problem | undefined {
  const registry = registryOf(asked.image);
  const rule = rules.find(({ match }) => match.test(seen));
  return rule && { ...rule.problem(registry, asked), seen };
}

/** The image that a failed step of a build could not get; undefined: the step was about something else. */
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
