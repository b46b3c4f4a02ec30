/** What is wrong with these agents, named where the text does not do it. Pure. */
export function saidOf(agents: readonly string[], what: string): string {
  const words = what.split(/[\s,:;]/u);
  const isNamed = agents.length === 1 && agents.every((agent) => words.includes(agent));
  return isNamed ? what : `${agents.join(', ')}: ${what}`;
}
