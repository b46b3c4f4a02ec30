import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { agentStartSuite } from './start-cases.ts';

testSuite(agentStartSuite);
