// Runs every benchmark, one after the other, and prints their tables.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

for (const name of ['server', 'memory', 'connections']) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.js`)], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
