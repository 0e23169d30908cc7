import { randomUUID, createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { startRedis, interleaveTurns, median, ratiosOf, shownRatio } from './measure.js';
import { Client, parseAddress } from '../dist/client/index.js';
import { LOCK_SCRIPT } from '../dist/stores/index.js';
import { createLocks } from '../dist/index.js';
const CAD = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const s = await startRedis();
const url = `redis://127.0.0.1:${s.port}`;
const sha1 = (t) => createHash('sha1').update(t).digest('hex');
const io = new Redis(s.port);
const c = new Client(parseAddress(url));
const cad = await io.script('LOAD', CAD); const ls = await io.script('LOAD', LOCK_SCRIPT);
let n = 0;
const INFO = ' ["host",1234,""]';
const locks = createLocks(url);
const cb = (argv) => new Promise((answered, failed) => c.send(argv, { answered, failed }));
const sides = {
  floor: async (k) => { const t = randomUUID(); await io.set('f' + k, t, 'PX', 30000, 'NX'); await io.evalsha(cad, 1, 'f' + k, t); },
  bare: async (k) => { const t = randomUUID(); await cb(['SET', 'f' + k, t, 'PX', '30000', 'NX']); await cb(['EVALSHA', cad, '1', 'f' + k, t]); },
  bareScript: async (k) => { const t = randomUUID(); await cb(['EVALSHA', ls, '1', `lock:{${k}}`, 'acquire','abcdefghijklmnop.' + n++ + INFO, '30000']); await cb(['EVALSHA', cad, '1', 'f' + k, t]); await cb(['DEL',`lock:{${k}}`])},
  short: async (k) => { const t = 'abcdefghijklmnop.' + n++ + INFO; await cb(['EVALSHA', ls, '1', `lock:{${k}}`, 'acquire', t, '30000']); await cb(['EVALSHA', ls, '1', `lock:{${k}}`, 'release', t, '30000']); },
  lib: async (k) => { const l = await locks.mutex(k).acquire(); await l.release(); },
};
delete sides.bareScript;
const names = Array.from({ length: 100 }, (_, i) => `bench:${i}`);
const rate = async (act, ms) => { const b = performance.now(); let cnt = 0; while (performance.now() < b + ms) { await act(names[cnt++ % 100]); } return cnt * 1000 / (performance.now() - b); };
for (const a of Object.values(sides)) await rate(a, 1000);
const f = await interleaveTurns(sides, 5, 60, (a) => rate(a, 5));
for (const [k, v] of Object.entries(f)) console.log(k.padEnd(8), Math.round(median(v)), shownRatio(ratiosOf(v, f.floor)));
await locks.close(); c.close(); io.disconnect(); await s.stop();
