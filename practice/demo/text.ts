import { network, sharedByLabs, state } from '../lab/paths.ts';

export const helpText = `npm run demo              start the fleet, or go on with the one that is there
npm run demo -- --fresh   start over with new machines
npm run demo -- --clean   put this machine back as it was
`;

export const aboutText = `
azp-fleet demo: three GPU machines, from nothing to agents that run jobs.

Real here:   the CLI, SSH, systemd, apt, Docker Engine, the manager and the
             agents' containers. The machines are containers, too, each with
             a systemd of its own as process 1.
Stand-ins:   the GPUs and their driver, Azure DevOps, the agent program.

What this changes on your machine:
  · installs the Debian packages it lacks, with their services off
  · keeps its files in ${state} and ${sharedByLabs},
    and, for you to read, in demo-fleet/
  · runs a Docker Engine of its own beside any other, a mirror, a registry and
    a practice Azure DevOps, all on a bridge of its own (${network.bridge}, ${network.gateway})
  · adds four firewall rules for that bridge, switches IP forwarding on and
    allows more inotify instances, which every systemd needs
All of it stays until you say: npm run demo -- --clean

`;

export const cleanText = `
azp-fleet demo: putting this machine back as it was.

`;

export function nextText(ssh: string): string {
  return `
The fleet stays up. Try:
  npx azp-fleet status -i demo-fleet/inventory.yaml
  npx azp-fleet plan -i demo-fleet/inventory.yaml
  $EDITOR demo-fleet/inventory.yaml     # change something, plan again
  ${ssh}
And when you have seen enough:
  npm run demo -- --clean
`;
}
