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
