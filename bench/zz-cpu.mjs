import { createHash } from 'node:crypto';
import { startRedis } from './measure.js';
import { Client, parseAddress } from '../dist/client/index.js';
const dist = process.argv[2] ?? '../dist';
const { LOCK_SCRIPT } = await import(dist + '/stores/index.js');
const { createLocks } = await import(dist + '/index.js');
const s = await startRedis();
const url = `redis://127.0.0.1:${s.port}`;
const c = new Client(parseAddress(url));
const ls = createHash('sha1').update(LOCK_SCRIPT).digest('hex');
await c.request(['SCRIPT','LOAD',LOCK_SCRIPT]);
let n = 0; const INFO = ' ["host",1234,""]';
const locks = createLocks(url);
const cb = (argv) => new Promise((answered, failed) => c.send(argv, { answered, failed }));
const sides = {
  short: async (k) => { const t = 'abcdefghijklmnop.' + n++ + INFO; await cb(['EVALSHA', ls, '1', `lock:{${k}}`, 'acquire', t, '30000']); await cb(['EVALSHA', ls, '1', `lock:{${k}}`, 'release', t, '30000']); },
  lib: async (k) => { const l = await locks.mutex(k).acquire(); await l.release(); },
};
const names = Array.from({ length: 100 }, (_, i) => `bench:${i}`);
const only = process.argv[3];
const res = {};
for (let r = 0; r < 9; r++) for (const [k, act] of Object.entries(sides)) {
  if (only && k !== only) continue;
  const N = r === 0 ? 20000 : 4000;
  const a = process.cpuUsage();
  for (let i = 0; i < N; i++) await act(names[i % 100]);
  const b = process.cpuUsage(a);
  if (r > 0) (res[k] ??= []).push((b.user + b.system) / N);
}
for (const [k, v] of Object.entries(res)) console.log(k, v.sort((a,b)=>a-b).map(x=>x.toFixed(1)).join(' '));
await locks.close(); c.close(); await s.stop();
