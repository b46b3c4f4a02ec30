import { resolverTests } from '../../../../support/apt-world/resolver-tests.ts';

resolverTests('Ubuntu 22.04');
