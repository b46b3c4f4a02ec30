// The agent's console.
export const say = (line) => process.stdout.write(`${line}\n`);
export const complain = (line) => process.stderr.write(`${line}\n`);
