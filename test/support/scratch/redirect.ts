/** Folders of a host that scripts name. Devices (/dev/null, /dev/urandom) stay the machine's. */
const path =
  /(?<![\w.}*/]|[\w}]")\/(?:azp(?:-fleet-gathered)?|bin|boot|dev(?!\/(?:null|urandom)\b)|etc|home|lib|opt|practice|proc|root|run|sbin|snap|srv|sys|tmp|usr|var)(?![\w-])/g;

/** Returns the script with every absolute path below another root; a path after a variable or in a URL is not absolute. */
export function redirect(script: string, root: string): string {
  return script.replaceAll(path, (found) => root + found);
}
