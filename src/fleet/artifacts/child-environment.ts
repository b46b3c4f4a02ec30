const kept =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TMPDIR|TEMP|TMP|USERPROFILE|APPDATA|SystemRoot|https?_proxy|no_proxy|all_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|npm_config_.*)$/i;

/** Returns the environment for programs that the CLI starts: only the variables that they need, so that they inherit no token. */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => kept.test(name)));
}
