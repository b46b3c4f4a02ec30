import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { removeSuite } from './scripts-cases.ts';

testSuite(removeSuite);
