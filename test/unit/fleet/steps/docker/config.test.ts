import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { configSuite } from './config-cases.ts';

testSuite(configSuite);
