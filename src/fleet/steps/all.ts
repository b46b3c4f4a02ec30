import { dockerStep } from './docker.ts';
import { driverStep } from './driver.ts';
import { imageStep } from './image.ts';
import { managerStep } from './manager.ts';
import type { Step } from './step.ts';
import { toolkitStep } from './toolkit.ts';

/** The steps of a host in their order. Pool and probe are the fleet's: before the managers start, and after. */
export const allSteps: readonly Step[] = [driverStep, dockerStep, toolkitStep, imageStep, managerStep];
