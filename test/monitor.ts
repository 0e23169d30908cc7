import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Reports each request that a server executes from now on, with the address of its client. ioredis throws when a line of
 * MONITOR arrives together with the reply to MONITOR.
 */
export async function monitor(
  port: number,
  onRequest: (argv: readonly string[], source: string) => void,
): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('MONITOR\r\n');
  const lines = createInterface({ input: socket });
  lines.on('line', (line) => {
    const [, source, words = ''] = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/.exec(line) ?? [];
    if (source === undefined) return;
    const argv = [...words.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!);
    onRequest(argv, source);
  });
  // The reply to MONITOR.
  await once(lines, 'line');
  return socket;
}
