import { dockerStep } from './docker/step.ts';
import { driverStep } from './driver/step.ts';
import { imageStep } from './image.ts';
import { managerStep } from './manager/step.ts';
import type { Step } from './step.ts';
import { toolkitStep } from './toolkit/step.ts';

/** The steps of a host in their order. Pool and probe are the fleet's: before the managers start, and after. */
export const allSteps: readonly Step[] = [driverStep, dockerStep, toolkitStep, imageStep, managerStep];
