/** Folders of a host that scripts name. What is only a device (/dev/null, /dev/urandom) stays the machine's. */
const path =
  /(?<![\w.}*/]|[\w}]")\/(?:azp|bin|boot|dev(?!\/(?:null|urandom)\b)|etc|home|lib|opt|practice|proc|root|run|sbin|snap|srv|sys|tmp|usr|var)(?![\w-])/g;

/** The script with every absolute path below another root; a path after a variable or in a URL is none. */
export function redirect(script: string, root: string): string {
  return script.replaceAll(path, (found) => root + found);
}
