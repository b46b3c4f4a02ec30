import { testSuite } from '../../../../../support/scratch/suite-tests.ts';
import { agentLibrariesSuite } from './agent-libraries-cases.ts';

testSuite(agentLibrariesSuite);
