/**
 * Whether tests run for all supported systems. Without it (`npm test`), one system of each package manager represents
 * the others, because all of them take minutes; `npm run test:lab` sets it.
 */
export const wholeMatrix = process.env['AZP_FLEET_TEST_MATRIX'] === 'all';
