import type Docker from 'dockerode';
import type { ImageConfig } from '../../shared/contract/config.ts';
import { AgentLayout } from '../../shared/image/layout.ts';

/**
 * Ends the agent's session with the server, in versions 4 and 5; of SIGTERM version 5 dies at once, and its session
 * blocks its name for minutes (.NET 10 no longer raises AssemblyLoadContext.Unloading on it).
 */
export const stopSignal = 'SIGINT';

/**
 * Shell text: a home that can be written, with the folder below which the agent remembers the server's addresses.
 * Without it each of its connections costs seconds (its XmlUtility.OpenFileHelper tries eleven times).
 */
export const writableHome = `for HOME in "\${HOME:-/home/${AgentLayout.user}}" ${AgentLayout.root}/home; do
  if mkdir -p "$HOME/.config" "$HOME/.local/share" 2>/dev/null && [ -w "$HOME/.config" ]; then break; fi
done
export HOME`;

/** Nothing stays between init and the listener, so that the stop signal reaches it, and it alone. */
const start = `${writableHome}
cd ${AgentLayout.root} && exec bin/Agent.Listener run --once`;

/** Somebody else's Dockerfile has the last word in it: how it starts an agent, and as whom, is not known. */
export function isForeign(image: ImageConfig): boolean {
  return image.kind === 'registry' || image.top !== undefined;
}

/** How a container begins and is stopped, and as whom. What is built here alone says the rest in its image. */
export function agentStart(image: ImageConfig, uid: number): Docker.ContainerCreateOptions {
  // By number, whatever the image says: a job is root only where it may be.
  const User = `${uid}:${AgentLayout.gid}`;
  if (!isForeign(image)) return { User, StopSignal: stopSignal };
  return {
    Entrypoint: ['/bin/sh', '-c', start],
    Cmd: [],
    User,
    WorkingDir: AgentLayout.root,
    StopSignal: stopSignal,
  };
}
