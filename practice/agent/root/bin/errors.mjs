// Errors of calls, with the texts of the real client.
export class ServerError extends Error {
  constructor(status, typeKey, message) {
    super(message);
    this.status = status;
    this.typeKey = typeKey ?? '';
  }
}

const words = {
  ECONNREFUSED: 'Connection refused',
  ENOTFOUND: 'Name or service not known',
  EAI_AGAIN: 'Resource temporarily unavailable',
  ETIMEDOUT: 'Connection timed out',
  EHOSTUNREACH: 'No route to host',
};

/** The server did not answer. */
export class NetworkError extends Error {
  constructor({ cause }, url) {
    const { hostname, port, protocol } = new URL(url);
    const place = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
    const why = words[cause?.code];
    super(why === undefined ? 'An error occurred while sending the request.' : `${why} (${place})`);
    this.typeKey = '';
  }
}
