import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { rebootSuite } from './reboot-cases.ts';

testSuite(rebootSuite);
