import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { prepareSuite } from './prepare-cases.ts';

testSuite(prepareSuite);
