// A session with the server: start, polls, renewal, restart, end.
import { constants, createDecipheriv, privateDecrypt } from 'node:crypto';
import { machineName, systemCapabilities } from './capabilities.mjs';
import { Connection, osDescription } from './connection.mjs';
import { say, sayError, stamp } from './say.mjs';
import { version } from './settings.mjs';
import { between, pause } from './waits.mjs';

const noSession = '00000000-0000-0000-0000-000000000000';
const retryMs = 30_000;
const conflictLimitMs = 240_000;
const lastingErrors = [
  'TaskAgentNotFoundException',
  'TaskAgentPoolNotFoundException',
  'AccessDeniedException',
  'VssUnauthorizedException',
];

export class Session {
  #settings;
  #server;
  #sessions;
  #messages;
  #id;
  #key;
  #last;

  constructor(settings) {
    this.#settings = settings;
    this.#sessions = `/_apis/distributedtask/pools/${settings.poolId}/sessions`;
    this.#messages = `/_apis/distributedtask/pools/${settings.poolId}/messages`;
  }

  /** Returns false if there is none; the console shows the cause. Throws errors that do not pass. */
  async open(signal) {
    say('scanning');
    const description = this.#description();
    say('connecting');
    let reported = false;
    for (let conflicts = 0; !signal.aborted;) {
      try {
        await this.#create(description, signal);
        if (reported) say('reconnected', stamp());
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        if (error.typeKey === 'TaskAgentAccessTokenExpiredException') throw error;
        if (error.typeKey === 'TaskAgentSessionConflictException') conflicts += 1;
        if (!this.#mayRetry(error, conflicts)) {
          sayError('noSession', error.message);
          return false;
        }
        if (!reported) sayError('connectError', stamp(), error.message);
        reported = true;
        await pause(retryMs, this.#settings.speed, signal);
      }
    }
    return false;
  }

  #mayRetry({ typeKey }, conflicts) {
    if (typeKey === 'TaskAgentNotFoundException') sayError('agentMissing');
    if (typeKey !== 'TaskAgentSessionConflictException') return !lastingErrors.includes(typeKey);
    sayError('sessionExists');
    if (conflicts * retryMs < conflictLimitMs) return true;
    sayError('sessionGivenUp');
    return false;
  }

  #description() {
    const { agentId, agentName } = this.#settings;
    return {
      systemCapabilities: systemCapabilities(agentName),
      sessionId: noSession,
      ownerName: machineName(),
      agent: {
        id: agentId,
        name: agentName,
        version: version(),
        osDescription,
        status: 0,
        provisioningState: null,
      },
    };
  }

  async #create(description, signal) {
    const server = new Connection(this.#settings);
    for (let known = 0; known < 3; known += 1) await server.connect(signal);
    await server.discover(signal);
    const { sessionId, encryptionKey } = await server.send('POST', this.#sessions, {
      body: description,
      signal,
    });
    this.#server = server;
    this.#id = sessionId;
    this.#key = privateDecrypt(
      { key: this.#settings.privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' },
      Buffer.from(encryptionKey.value, 'base64'),
    );
  }

  /** Returns the next message, decrypted; undefined on a stop. Throws permanent errors. */
  async next(signal) {
    let reported = false;
    while (!signal.aborted) {
      const after = this.#last === undefined ? '' : `&lastMessageId=${this.#last}`;
      try {
        const message = await this.#server.send('GET', `${this.#messages}?sessionId=${this.#id}${after}`, {
          signal,
        });
        if (reported) say('reconnected', stamp());
        reported = false;
        if (message !== undefined) return this.#read(message);
        await pause(between(5000, 15_000), this.#settings.speed, signal);
      } catch (error) {
        if (signal.aborted) break;
        if (await this.#recovers(error, signal)) {
          await pause(between(5000, 15_000), this.#settings.speed, signal);
          continue;
        }
        const expired = error.typeKey === 'TaskAgentSessionExpiredException';
        const withdrawn = error.typeKey === 'TaskAgentAccessTokenExpiredException';
        if (expired || withdrawn || lastingErrors.includes(error.typeKey)) throw error;
        if (!reported) sayError('connectError', stamp(), error.message);
        reported = true;
        await pause(between(15_000, 30_000), this.#settings.speed, signal);
      }
    }
    return undefined;
  }

  async #recovers({ typeKey }, signal) {
    if (typeKey !== 'TaskAgentSessionExpiredException' || this.#settings.skipSessionRecover) return false;
    return this.open(signal);
  }

  #read({ messageId, messageType, iv, body }) {
    this.#last = messageId;
    const decipher = createDecipheriv('aes-256-cbc', this.#key, Buffer.from(iv, 'base64'));
    const text = Buffer.concat([decipher.update(body, 'base64'), decipher.final()]).toString('utf8');
    return { messageId, messageType, body: JSON.parse(text.replace(/^\uFEFF/u, '')) };
  }

  /** Deletes a message from the queue; one that stays is sent again in the next session. */
  async forget({ messageId }) {
    const path = `${this.#messages}/${messageId}?sessionId=${this.#id}`;
    await this.#server.send('DELETE', path, { signal: AbortSignal.timeout(retryMs) }).catch(() => undefined);
  }

  /** Polls a second time beside the main poll, so that the session stays while that one sleeps or a job runs. */
  async keepAlive(signal) {
    while (!signal.aborted) {
      const path = `${this.#messages}?sessionId=${this.#id}`;
      await this.#server.send('GET', path, { signal }).catch(() => undefined);
      await pause(retryMs, this.#settings.speed, signal);
    }
  }

  async close() {
    await this.#server.send('DELETE', `${this.#sessions}/${this.#id}`, {
      signal: AbortSignal.timeout(retryMs),
    });
  }
}
