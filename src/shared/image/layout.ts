/** Paths and ids inside the agent image, shared by the Dockerfile and the manager. */
export const AgentLayout = {
  /** Agent root: `run.sh`, `bin/`, `externals/`. */
  root: '/azp',
  work: '/azp/_work',
  diagnostics: '/azp/_diag',
  user: 'agent',
  uid: 4000,
  gid: 4000,
  /** Files copied into the created container before it starts; they are the whole configuration of the agent. */
  agentFile: '.agent',
  credentialsFile: '.credentials',
  keyFile: '.credentials_rsaparams',
} as const;

/**
 * Returns the uid for the jobs of a host's nth slot. Each slot has its own, because limits on processes, inotify watches and
 * keys count by uid. The range is above users' accounts, below systemd's dynamic users (61184), and unused by images; slots
 * with `mode: host` use 58000 to 58999. Pure.
 */
export function slotUid(index: number): number {
  return 59_000 + index;
}
