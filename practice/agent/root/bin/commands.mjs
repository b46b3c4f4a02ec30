// `##vso[area.event name=value;…]data`: a command of a step to the worker, on its output.

/** Returns undefined for a line that is no command. */
export function parseCommand(line) {
  const [, name, properties = '', data] = /^##vso\[([a-z]+\.[a-z]+)(?: ([^\]]*))?\](.*)$/u.exec(line) ?? [];
  if (name === undefined) return undefined;
  const pairs = properties.split(';').flatMap((pair) => {
    const [, key, value] = /^\s*([^=]+)=(.*)$/u.exec(pair) ?? [];
    return key === undefined ? [] : [[key.toLowerCase(), unescaped(value)]];
  });
  return { name, properties: Object.fromEntries(pairs), data: unescaped(data) };
}

function unescaped(text) {
  return text
    .replaceAll('%3B', ';')
    .replaceAll('%0D', '\r')
    .replaceAll('%0A', '\n')
    .replaceAll('%5D', ']')
    .replaceAll('%AZP25', '%');
}
