/** What is wrong with these agents, named where the text does not do it. Pure. */
export function saidOf(agents: readonly string[], what: string): string {
  const [only] = agents;
  const isNamed = agents.length === 1 && only !== undefined && what.split(/[\s,:;]+/u).includes(only);
  return isNamed ? what : `${agents.join(', ')}: ${what}`;
}
