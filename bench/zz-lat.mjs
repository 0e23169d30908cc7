import net from 'node:net';
import { startRedis, median } from './measure.js';
const dist = process.argv[2] ?? '../dist';
const { createLocks } = await import(dist + '/index.js');
const s = await startRedis();
let wrote = 0, got = 0;
const ow = net.Socket.prototype.write;
net.Socket.prototype.write = function (...a) { wrote = performance.now(); return ow.apply(this, a); };
const oe = net.Socket.prototype.emit;
const op = net.Socket.prototype.push;
net.Socket.prototype.push = function (...a) { got = performance.now(); return op.apply(this, a); };
const locks = createLocks(`redis://127.0.0.1:${s.port}`);
const names = Array.from({ length: 100 }, (_, i) => `bench:${i}`);
const d = { a1: [], a2: [], a3: [], r1: [], r2: [], r3: [] };
for (let i = 0; i < 40000; i++) {
  const t0 = performance.now();
  const l = await locks.mutex(names[i % 100]).acquire();
  const t1 = performance.now(); const w = wrote, g = got;
  const p = l.release(); await p;
  const t2 = performance.now();
  if (i > 20000) { d.a1.push(w - t0); d.a2.push(g - w); d.a3.push(t1 - g); d.r1.push(wrote - t1); d.r2.push(got - wrote); d.r3.push(t2 - got); }
}
for (const [k, v] of Object.entries(d)) console.log(k, (median(v) * 1000).toFixed(1));
await locks.close(); await s.stop();
