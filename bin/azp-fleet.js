#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read this file to say what is missing.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `azp-fleet needs Node 22.13 or newer; this is ${process.versions.node}.\n` +
      'next: install a current Node, or, in a clone, run "npm run demo" once: it brings its own.\n',
  );
  process.exit(2);
}
const { enableCompileCache } = await import('node:module');
enableCompileCache?.();
const { main } = await import('../dist/cli.mjs');
process.exitCode = await main();
