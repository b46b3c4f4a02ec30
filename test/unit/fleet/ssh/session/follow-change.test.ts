import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { followChangeSuite } from './follow-change-cases.ts';

testSuite(followChangeSuite);
