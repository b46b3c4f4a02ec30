import type { LabHost } from './host.ts';

/** Where the stand-in cloud answers: identities, on AWS for containers too, and names, as Azure and Google do, at the same address. */
export const identities = [
  '169.254.169.254/80',
  '169.254.170.23/8080',
  '168.63.129.16/80',
  '168.63.129.16/32526',
] as const;
export const names = '168.63.129.16/53';

/** Prints `reached ADDRESS/PORT` for each of them that answers a connection; for bash. */
export const reach = `for at in ${[...identities, names].join(' ')}; do
  timeout 3 bash -c "</dev/tcp/$at" 2>/dev/null && echo "reached $at"
done`;

/** Accepts connections and does nothing else: tests only check whether they succeed. */
const server = (ports: readonly number[]): string =>
  `for (const port of ${JSON.stringify(ports)}) require("net").createServer((socket) => socket.end()).listen(port)`;

/** Passes connections on, byte by byte. */
const relay = (port: number, to: { readonly port: string | number; readonly hostname: string }): string =>
  `require("net").createServer((here) => {
  const there = require("net").connect(${to.port}, "${to.hostname}");
  for (const [one, other] of [[here, there], [there, here]]) one.on("error", () => other.destroy()).pipe(other);
}).listen(${port})`;

const node = '/opt/azp-fleet/current/node';
const relayPort = 8099;

/**
 * Puts a cloud's addresses one hop from the host: a separate network namespace. On the host itself they would be
 * local, and no routing rule would apply. Removed at the next boot. `identity`: what answers at port 80, the host passes it on.
 */
export async function raiseCloud(host: LabHost, identity?: URL): Promise<void> {
  const own = server(identity === undefined ? [80, 8080, 32_526, 53] : [8080, 32_526, 53]);
  const passed = identity === undefined ? '' : `;${relay(80, { port: relayPort, hostname: '192.0.2.1' })}`;
  await host.exec(`set -e
ip netns add cloud
ip link add cloud0 type veth peer name eth0 netns cloud
ip addr add 192.0.2.1/30 dev cloud0
ip link set cloud0 up
ip -n cloud addr add 192.0.2.2/30 dev eth0
ip -n cloud link set eth0 up
ip -n cloud link set lo up
ip -n cloud route add default via 192.0.2.1
for address in 169.254.169.254 169.254.170.23 168.63.129.16; do
  ip -n cloud addr add $address/32 dev lo
  ip route add $address/32 via 192.0.2.2
done
systemd-run --quiet --unit=cloud ip netns exec cloud ${node} -e '${own}${passed}'
${identity === undefined ? '' : `systemd-run --quiet --unit=cloud-relay ${node} -e '${relay(relayPort, identity)}'`}
until timeout 1 bash -c '</dev/tcp/168.63.129.16/53' 2>/dev/null; do sleep 0.2; done`);
}

export async function lowerCloud(host: LabHost): Promise<void> {
  await host.exec('systemctl stop cloud cloud-relay; ip netns del cloud; ip link del cloud0', {
    allowFailure: true,
  });
}
