import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { installSuite } from './install-cases.ts';

testSuite(installSuite);
