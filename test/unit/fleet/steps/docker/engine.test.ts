import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { engineSuite } from './engine-cases.ts';

testSuite(engineSuite);
