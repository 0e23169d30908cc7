// Runs every benchmark, one after the other, and prints their tables.
import { runInTurn } from './measure.js';

runInTurn([
  'server',
  'acl',
  'tls',
  'memory',
  'connections',
  'locks',
  'cache',
  'startup',
  'run',
  'lab',
  'memcached',
  'postgres',
  'log',
  'restart',
]);
