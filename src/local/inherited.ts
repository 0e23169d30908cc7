import { closeSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Closes descriptors that this process inherited. Node passes on to its children descriptors that it inherited itself,
 * such as lock files and pipes of a shell (`exec 200>file`). The local server outlives that shell: it would keep the
 * lock, and keep the reader of the pipe waiting. Linux only.
 */
export function closeInherited(): void {
  for (const descriptor of descriptors()) {
    if (descriptor > LAST_STANDARD && isInherited(descriptor)) closeSync(descriptor);
  }
}

const LAST_STANDARD = 2;
/** Node sets this flag on every descriptor that it opens. */
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
    // This was the descriptor of the directory listing.
    return false;
  }
}
