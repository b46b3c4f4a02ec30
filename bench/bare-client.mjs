// The floor of bench/ssh.ts: `node bare-client.mjs SETTING`. No host keys, no configuration, no sudo, no time limits.
import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import ssh2 from 'ssh2';

const { hosts, script, port, user, key, concurrency } = JSON.parse(argv[2]);
const waiting = readFileSync(hosts, 'utf8').trim().split('\n');
const text = readFileSync(script);
const privateKey = readFileSync(key);

const one = (host) =>
  new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    let stdout = '';
    client.on('error', reject);
    client.on('close', () => {
      if (stdout.includes('frames ')) resolve();
      else reject(new Error(`${host}: no facts`));
    });
    client.on('ready', () => {
      client.exec('sh -s', (error, channel) => {
        if (error) return reject(error);
        channel.on('data', (chunk) => (stdout += chunk.toString()));
        channel.stderr.resume();
        channel.on('close', () => client.end());
        channel.end(text);
      });
    });
    client.connect({ host, port, username: user, privateKey, readyTimeout: 120_000 });
  });

const worker = async () => {
  for (let host = waiting.shift(); host !== undefined; host = waiting.shift()) await one(host);
};
await Promise.all(Array.from({ length: concurrency }, worker));
