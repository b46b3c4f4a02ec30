import { FleetError, type Problem } from '../../../../shared/base/errors.ts';

interface Asked {
  readonly registry: string;
  readonly reference: string;
  /** Whom it was told; undefined: nobody, or a token. */
  readonly user: string | undefined;
}

/** Why a registry gives nothing to this machine, by its answer (`HTTP 404`) or by what the network did. */
export function registryFault(seen: string, asked: Asked, cause?: unknown): FleetError {
  return new FleetError({ ...meaning(seen, asked), seen }, { cause });
}

function meaning(seen: string, { registry, reference, user }: Asked): Omit<Problem, 'seen'> {
  const login = `docker login ${registry}`;
  if (/HTTP 401/.test(seen))
    return {
      code: 'registry.password',
      what:
        user === undefined
          ? `${registry} asks who we are, and this machine has no login that it takes: ${reference}`
          : `${registry} does not accept the password of user ${user}: ${reference}`,
      next: `log in here (${login}), then run it again`,
    };
  if (/HTTP 403/.test(seen))
    return {
      code: 'registry.denied',
      what: `${registry} does not let ${user === undefined ? 'us' : `user ${user}`} have ${reference}`,
      next: `log in here as somebody who may have it (${login}), then run it again`,
    };
  if (/HTTP 404/.test(seen))
    return {
      code: 'registry.not-found',
      what: `${registry} has no ${reference}`,
      next: 'correct name and digest in the inventory, or push it, then run it again',
    };
  if (/HTTP 429/.test(seen))
    return {
      code: 'registry.limit',
      what: `${registry} gives no more images for now: ${reference}`,
      next: `wait, or log in here as somebody for whom it allows more (${login})`,
    };
  if (/certificate/i.test(seen))
    return {
      code: 'registry.certificate',
      what: `the certificate of ${registry} is not trusted on this machine: ${reference}`,
      next: 'name the authority that signed it as ca: in the inventory, then run it again',
    };
  return {
    code: 'registry.unreachable',
    what: `${registry} does not give ${reference}`,
    next: 'look at the network (proxy: in the inventory) and at what the registry says, then run it again',
  };
}
