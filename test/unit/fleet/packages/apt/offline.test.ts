import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { gatherSuite } from './gather-cases.ts';

testSuite(gatherSuite);
