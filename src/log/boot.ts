import { readFileSync } from 'node:fs';
import { processMs } from '../clock/index.ts';

/** The run of the operating system. Its clock cannot be set, and counts on when a process ends. */
export interface Boot {
  /** 32 hexadecimal digits; zeros if it is unknown. */
  readonly id: string;
  /** Milliseconds since a time that is the same for all processes of this run. */
  nowMs(): number;
  /** Whether an id is that of this run. */
  isSame(id: string): boolean;
}

export function bootOf(id: string, nowMs: () => number): Boot {
  return { id, nowMs, isSame: (other) => other === id && id !== UNKNOWN };
}

export function systemBoot(): Boot {
  return bootOf(systemBootId(), processMs);
}

function systemBootId(): string {
  try {
    const text = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1');
    const id = text.replaceAll(/[^\da-f]/g, '');
    return id.length === UNKNOWN.length ? id : UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

const UNKNOWN = '0'.repeat(32);
