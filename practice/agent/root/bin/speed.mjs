// Returns how many times faster than real the practice server's slow rules run: the server reports it, and the agent
// uses the same speed. The real agent has one speed.
export async function speedOf(serverUrl) {
  try {
    const response = await fetch(new URL('/_fake/', serverUrl), { signal: AbortSignal.timeout(5000) });
    const { speed } = await response.json();
    return speed > 0 ? speed : 1;
  } catch {
    return 1;
  }
}
