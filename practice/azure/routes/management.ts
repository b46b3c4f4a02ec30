import type { Route } from '../http/reply.ts';
import { agentRoutes } from './agents.ts';
import { maintenanceRoutes } from './maintenance.ts';
import { packageRoutes } from './packages.ts';
import { permissionRoutes } from './permissions.ts';
import { pipelineRoutes } from './pipelines.ts';
import { poolRoutes } from './pools.ts';
import { processRoutes } from './processes.ts';
import { projectRoutes } from './projects.ts';
import { queueRoutes } from './queues.ts';
import { requestRoutes } from './requests.ts';
import { resourceUsageRoutes } from './resource-usage.ts';
import { refreshRoutes, updateRoutes } from './updates.ts';

/** What the same answer is given to, be it a client or an agent. */
export const sharedRoutes: readonly Route[] = [...packageRoutes, ...updateRoutes];

/** What clients manage pools, agents and queues with. */
export const managementRoutes: readonly Route[] = [
  ...poolRoutes,
  ...agentRoutes,
  ...requestRoutes,
  ...refreshRoutes,
  ...maintenanceRoutes,
  ...resourceUsageRoutes,
  ...projectRoutes,
  ...processRoutes,
  ...queueRoutes,
  ...permissionRoutes,
  ...pipelineRoutes,
  ...sharedRoutes,
];
