// One of the processes of bench/cache.js: callers that ask for one value at the same time.
import { setTimeout as pause } from 'node:timers/promises';
import { openerOf } from './contenders.js';

const [, , name, url] = process.argv;
const cache = (await openerOf(name))(url);

process.on('message', async ({ key, callers, loadMs }) => {
  let loads = 0;
  const load = async () => {
    loads++;
    await pause(loadMs);
    return { endedMs: nowMs() };
  };
  const call = async () => {
    const { endedMs } = await cache.get(key, 60_000, load);
    return nowMs() - endedMs;
  };
  const lateMs = await Promise.all(Array.from({ length: callers }, call));
  process.send({ loads, lateMs: Math.max(...lateMs) });
});
process.send({ isReady: true });

/** Of one machine, so processes can compare. */
function nowMs() {
  return performance.timeOrigin + performance.now();
}
