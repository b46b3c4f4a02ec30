// The options of config.sh, and the login in them.
export const fail = (message) => Object.assign(new Error(message), { exitCode: 1 });

/** Reads `--name value`, or VSTS_AGENT_INPUT_NAME, which it removes from the environment. */
export function inputs(args) {
  const values = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith('VSTS_AGENT_INPUT_')) continue;
    values[name.slice('VSTS_AGENT_INPUT_'.length).toLowerCase()] = value;
    delete process.env[name];
  }
  for (let index = 0; index < args.length; index += 1) {
    const name = args[index].replace(/^--/u, '').toLowerCase();
    const next = args[index + 1];
    const isFlag = next === undefined || next.startsWith('--');
    values[name] = isFlag ? 'true' : next;
    if (!isFlag) index += 1;
  }
  return values;
}

/** Throws if the chosen login lacks an option, with the text of the real program. */
export function checkLogin(input) {
  const needed = isPrincipal(input) ? ['clientid', 'tenantid', 'clientsecret'] : ['token'];
  for (const name of ['url', ...needed, 'pool', 'agent']) {
    if (!input[name])
      throw fail(`Invalid configuration provided for ${name}. Terminating unattended configuration.`);
  }
}

const isPrincipal = ({ auth = 'pat' }) => auth.toLowerCase() === 'sp';

/** Returns the login. The practice server itself is the login service; the real program calls Microsoft's. */
export async function authorizationOf(input) {
  if (!isPrincipal(input)) return `Basic ${Buffer.from(`VstsAgent:${input.token}`).toString('base64')}`;
  const response = await fetch(`${new URL(input.url).origin}/${input.tenantid}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: input.clientid,
      client_secret: input.clientsecret,
    }),
  });
  const { access_token: value, error_description: description } = await response.json();
  if (value === undefined) throw fail(description);
  return `Bearer ${value}`;
}
