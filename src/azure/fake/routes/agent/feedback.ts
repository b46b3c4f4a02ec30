import { empty, ok, type Route } from '../../http/reply.ts';

/**
 * What agents ask and tell beside their work. Without these addresses they go on, but each attempt is a warning in the
 * log of a job ("Failed to publish telemetry data", recorded).
 */
export const feedbackRoutes: readonly Route[] = [
  [
    'GET',
    /^\/_apis\/FeatureFlags\/([^/]+)$/iu,
    (_call, name = '') =>
      ok({ name, description: null, uri: null, effectiveState: 'Off', explicitState: 'Off' }),
  ],
  ['POST', /^\/_apis\/customerintelligence\/events$/iu, () => empty],
];
