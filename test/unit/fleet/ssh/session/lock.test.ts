import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { lockSuite } from './lock-cases.ts';

testSuite(lockSuite);
