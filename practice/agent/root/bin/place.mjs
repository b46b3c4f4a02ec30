// Where a job's steps run when it has no container: on the machine of the agent, with the agent's own environment.
import { spawn } from 'node:child_process';

export const onHost = {
  spawn: (file, args, { env, ...options }) =>
    spawn(file, args, { ...options, env: { ...process.env, ...env } }),
};
