// What config.sh is given, and the login in it.
export const fail = (message) => Object.assign(new Error(message), { exitCode: 1 });

/** `--name value`, or VSTS_AGENT_INPUT_NAME, which is taken out of the environment. */
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

/** Throws what is missing of the chosen way to log in, in the words of the real program. */
export function checkLogin(input) {
  const needed = isPrincipal(input) ? ['clientid', 'tenantid', 'clientsecret'] : ['token'];
  for (const name of ['url', ...needed, 'pool', 'agent']) {
    if (!input[name])
      throw fail(`Invalid configuration provided for ${name}. Terminating unattended configuration.`);
  }
}

const isPrincipal = ({ auth = 'pat' }) => auth.toLowerCase() === 'sp';

/** The login service is the practice server itself; the real program asks Microsoft's. */
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
