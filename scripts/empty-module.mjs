// Replaces modules that the bundled manager never calls (see build.mjs).
export default {};
