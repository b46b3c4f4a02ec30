/** sshd's MaxSessions is 10 by default; a person's own multiplexed session may want one. */
export const usualChannels = 8;

/** Releases of dropbear that may end the whole connection when a command begins while another one ends (mkj/dropbear#321). */
const fallible = { from: 2022.82, fixed: 2024.86 } as const;

/** Commands that a server may be given at the same time. `software`: what it calls itself, as `dropbear_2022.83`. */
export function channelsOf(software: string): number {
  const [, version] = /^dropbear(?:_(\d{4}\.\d+))?/.exec(software) ?? [];
  if (!software.startsWith('dropbear')) return usualChannels;
  // Without a version it may be one of them.
  const release = Number(version ?? fallible.from);
  return release >= fallible.from && release < fallible.fixed ? 1 : usualChannels;
}
