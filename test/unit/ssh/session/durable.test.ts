import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { durableSuite } from './durable-cases.ts';

testSuite(durableSuite);
