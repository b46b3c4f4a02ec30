import { ok, type Route } from '../../http/reply.ts';

/** What agents ask beside their work: which features the server has switched on. Here none is. */
export const featureFlagRoutes: readonly Route[] = [
  [
    'GET',
    /^\/_apis\/FeatureFlags\/([^/]+)$/iu,
    (_call, name = '') =>
      ok({ name, description: null, uri: null, effectiveState: 'Off', explicitState: 'Off' }),
  ],
];
