// Started in a job's container by the agent's own Node, with everything about the step on stdin, so that no secret is
// on a command line. Real: that, and the members of the message. Stand-in for containerHandlerInvoker.js: the text.
const { spawn } = require('node:child_process');

let message = '';
process.stdin.on('data', (chunk) => {
  message += chunk;
});
process.stdin.on('end', () => {
  const { handler, args, workDir, environment } = JSON.parse(message);
  const env = { ...process.env, ...environment, TF_BUILD: 'True' };
  const step = spawn(handler, [args], { cwd: workDir, env, stdio: 'inherit' });
  step.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
  step.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
});
