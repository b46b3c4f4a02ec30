import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { startChangeSuite } from './start-change-cases.ts';

testSuite(startChangeSuite);
