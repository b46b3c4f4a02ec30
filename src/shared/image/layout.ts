/** What the agent image looks like inside. The Dockerfile and the manager agree on it. */
export const AgentLayout = {
  /** Agent root: `run.sh`, `bin/`, `externals/`. */
  root: '/azp',
  work: '/azp/_work',
  diagnostics: '/azp/_diag',
  user: 'agent',
  uid: 4000,
  gid: 4000,
  /** Put into the created container before it starts; the agent is configured by them alone. */
  agentFile: '.agent',
  credentialsFile: '.credentials',
  keyFile: '.credentials_rsaparams',
} as const;

/**
 * The uid that the jobs of a host's nth slot run as: a number of its own, because limits on processes, inotify watches
 * and keys count by it. Above people's accounts and below what systemd gives away (61184); images use none of these,
 * and slots straight on the host have 58000 to 58999. Pure.
 */
export function slotUid(index: number): number {
  return 59_000 + index;
}
