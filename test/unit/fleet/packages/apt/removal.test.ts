import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { removalSuite } from './removal-cases.ts';

testSuite(removalSuite);
