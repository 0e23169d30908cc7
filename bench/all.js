// Runs every benchmark, one after the other, and prints their tables.
import { runInTurn } from './measure.js';

runInTurn([
  'server',
  'acl',
  'tls',
  'memory',
  'connections',
  'locks',
  'history',
  'page',
  'cache',
  'startup',
  'run',
  'lab',
  'memcached',
  'postgres',
  'etcd',
  'quorum',
  'log',
  'restart',
]);
