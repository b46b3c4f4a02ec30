import fc from 'fast-check';
import type { Mishap } from '../boundary.ts';
import { dockerSays, dockerSilent, imageId } from '../containers.ts';
import { act, minute, span, type Act } from './act.ts';

/** Faults of Docker and the host. */
export const machine: fc.Arbitrary<Act> = fc.oneof(
  fc.tuple(span, fc.boolean()).map(([ms, withContainers]) =>
    act(
      `dockerd is down for ${ms} ms${withContainers ? ', and its containers end' : ''}`,
      ({ dockerd, timeline }) => {
        if (!dockerd.isUp) return;
        dockerd.goDown(withContainers);
        timeline.after(ms, () => (dockerd.isUp = true));
      },
    ),
  ),
  fc
    .tuple(
      fc.constantFrom(
        'create',
        'putArchive',
        'start',
        'stop',
        'removeUnlessRunning',
        'listOwn',
        'exit',
        'logs',
      ),
      fc.constantFrom<Mishap>('refused', 'silent', 'unanswered', 'late'),
      fc.constantFrom(404, 409, 500),
      fc.integer({ min: 1, max: 4 }),
    )
    .map(([call, how, status, left]) =>
      act(`dockerd fails ${left} times: ${call} ${how} ${status}`, ({ boundary }) => {
        const error = (): unknown =>
          how === 'refused' ? dockerSays(status, 'out of order') : dockerSilent();
        boundary.faults.push({ calls: new RegExp(`^engine\\.${call}$`), left, how, error });
      }),
    ),
  fc
    .tuple(span, fc.boolean())
    .map(([ms, fails]) =>
      act(
        `the next removal takes ${ms} ms${fails ? ', and fails' : ''}`,
        ({ dockerd }) => void dockerd.slowRemovals.push({ ms, fails }),
      ),
    ),
  fc
    .tuple(span, fc.constant('x'))
    .map(([ms]) =>
      act(
        `events are lost for ${ms} ms`,
        ({ dockerd, timeline }) => void (dockerd.deafUntil = timeline.now + ms),
      ),
    ),
  fc.tuple(fc.integer({ min: 500, max: 20_000 }), fc.integer({ min: 1, max: 10 })).map(([lagMs, minutes]) =>
    act(`output comes ${lagMs} ms late for ${minutes} min`, ({ dockerd, timeline }) => {
      dockerd.lag = { ms: lagMs, until: timeline.now + minutes * minute };
    }),
  ),
  span.map((ms) =>
    act(`the disk is full for ${ms} ms`, (world) => {
      world.disk.isFull = true;
      world.timeline.after(ms, () => (world.disk.isFull = false));
    }),
  ),
  span.map((ms) =>
    act(`the disk of Docker is full for ${ms} ms`, (world) => {
      world.isTight = true;
      world.timeline.after(ms, () => (world.isTight = false));
    }),
  ),
  fc.integer({ min: 1, max: 30 }).map((minutes) =>
    act(`a user is logged in for ${minutes} min`, (world) => {
      const { now } = world.timeline;
      const from = world.login.until > now ? world.login.from : now;
      world.login = { from, until: now + minutes * minute };
    }),
  ),
  fc
    .integer({ min: -90 * minute, max: 90 * minute })
    .map((ms) => act(`the clock is set by ${ms} ms`, (world) => void (world.wallAhead += ms))),
  fc.tuple(fc.integer({ min: 2, max: 9 }), fc.boolean()).map(([number, works]) =>
    act(`image ${number} is pushed${works ? '' : ', and does not work'}`, (world) => {
      const id = imageId(number);
      world.dockerd.registryImage = id;
      if (works) world.dockerd.broken.delete(id);
      else world.dockerd.broken.add(id);
      world.order('/v1/image', { fresh: true }, () => undefined);
    }),
  ),
);
