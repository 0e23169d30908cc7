/** What INFO and the clock read of Node's process, as far as a page can know it. */
export const process = {
  platform: 'browser',
  arch: '',
  version: '',
  pid: 1,
  execPath: '',
  env: {} as Readonly<Record<string, string>>,
  memoryUsage: () => ({ heapUsed: 0, external: 0, rss: 0 }),
  resourceUsage: () => ({ maxRSS: 1 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  hrtime: { bigint: () => BigInt(Math.round(performance.now() * 1e6)) },
};

/** A turn of the event loop, sooner than a timeout of zero, which browsers delay by milliseconds. */
export function setImmediate(callback: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  port2.postMessage(null);
}
