import { closeSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Closes what a process has open without having opened it. Node passes on to its children what it was
 * given itself under a high number, which is how shells keep lock files and pipes (`exec 200>file`). A
 * server that outlives them all would keep the lock, and the pipe's reader waiting. Linux only.
 */
export function closeInherited(): void {
  for (const descriptor of descriptors()) {
    if (descriptor > LAST_STANDARD && isInherited(descriptor)) closeSync(descriptor);
  }
}

const LAST_STANDARD = 2;
/** Node opens nothing without it. */
const CLOSE_ON_EXEC = 0o2000000;

function descriptors(): number[] {
  try {
    return readdirSync('/proc/self/fdinfo').map(Number);
  } catch {
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const text = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(text) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It was the one by which the folder was read.
    return false;
  }
}
