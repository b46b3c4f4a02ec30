import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { broughtSuite } from './brought-cases.ts';

testSuite(broughtSuite);
