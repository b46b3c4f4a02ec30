import { dockerStep } from './docker/step.ts';
import { driverStep } from './driver/step.ts';
import { imageStep } from './image.ts';
import { managerStep } from './manager/step.ts';
import type { Step } from './step.ts';
import { toolkitStep } from './toolkit/step.ts';

/** The steps of one host, in order. The pool step runs once for the fleet before these, the probe step after. */
export const allSteps: readonly Step[] = [driverStep, dockerStep, toolkitStep, imageStep, managerStep];
