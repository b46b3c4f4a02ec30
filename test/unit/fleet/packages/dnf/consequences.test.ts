import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { consequencesSuite } from './consequences-cases.ts';

testSuite(consequencesSuite);
