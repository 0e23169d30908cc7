import type { ListedKey } from '../../stores/index.ts';
import type { KeyList } from '../ls/key-list.ts';
import { endText, keyKindText } from '../ls/key-table.ts';
import { counted, durationText } from '../ls/words.ts';
import { messageText, printable } from '../printable.ts';
import type { ClockOffset, InfoSection, ServerFacts } from './facts.ts';

/** The result of one check. `unknown`: the server does not let it be made. */
export interface Finding {
  readonly check: 'expiry' | 'eviction' | 'clock' | 'role';
  readonly state: 'ok' | 'warning' | 'unknown';
  readonly message: string;
}

/** Findings about one server. */
export function serverFindings({ memory, replication, clock }: ServerFacts): Finding[] {
  return [evictionFinding(memory), clockFinding(clock), roleFinding(replication)];
}

const MAX_NAMED = 10;

/** A lock without a TTL stays locked when its holder dies. */
export function expiryFinding({ keys, isCut }: KeyList, pattern: string, nowMs: number): Finding {
  const shown = printable(pattern);
  if (keys.length === 0) return ok('expiry', `every lock key that matches ${shown} has a TTL`);
  const names = keys.slice(0, MAX_NAMED).map((key) => nameText(key, nowMs));
  const rest = keys.length - names.length;
  const count = `${isCut ? 'more than ' : ''}${counted(keys.length, 'lock key')}`;
  return warning(
    'expiry',
    `${count} without a TTL, by the pattern ${shown}: ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. ` +
      'The server does not end such a lock when its holder dies: find out who holds it, then delete the key.',
  );
}

function nameText(key: ListedKey, nowMs: number): string {
  const end = endText(key.guess, nowMs);
  return `${printable(key.keyBytes)} (${keyKindText(key)}${end === '' ? '' : `, ${end}`})`;
}

function evictionFinding(memory: InfoSection): Finding {
  if ('refusal' in memory) return refused('eviction', memory.refusal);
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory.text)?.[1];
  if (policy === undefined) {
    return { check: 'eviction', state: 'unknown', message: 'INFO memory has no maxmemory_policy' };
  }
  if (policy === 'noeviction') return ok('eviction', 'maxmemory-policy is noeviction');
  const hasLimit = !/^maxmemory:0\r?$/m.test(memory.text);
  const when = hasLimit
    ? 'When its memory is full'
    : 'When it gets a limit (maxmemory) and is full';
  return warning(
    'eviction',
    `maxmemory-policy is ${policy}. ${when}, the server deletes locks that are held. ` +
      'Set it to noeviction, or give locks a server of their own.',
  );
}

/** Recipes with timestamps count in whole seconds. */
const MAX_OFFSET_MS = 1000;

function clockFinding({ offsetMs, marginMs }: ClockOffset): Finding {
  const atLeastMs = Math.abs(offsetMs) - marginMs;
  if (atLeastMs <= MAX_OFFSET_MS) {
    const atMostMs = Math.ceil(Math.abs(offsetMs) + marginMs);
    return ok('clock', `differs from the clock of this machine by ${atMostMs} ms at most`);
  }
  const side = offsetMs < 0 ? 'behind' : 'ahead of';
  return warning(
    'clock',
    `the server is ${durationText(atLeastMs)} or more ${side} this machine. Locks whose value is a time ` +
      'end too early or too late; leases of Holdfast do not. Let both follow one time server (NTP).',
  );
}

function roleFinding(replication: InfoSection): Finding {
  if ('refusal' in replication) return refused('role', replication.refusal);
  if (!/^role:slave\r?$/m.test(replication.text)) return ok('role', 'takes writes');
  return warning(
    'role',
    'the server is a replica: it refuses writes, and may not have the newest locks. Name its master.',
  );
}

function ok(check: Finding['check'], message: string): Finding {
  return { check, state: 'ok', message };
}

function warning(check: Finding['check'], message: string): Finding {
  return { check, state: 'warning', message };
}

function refused(check: Finding['check'], reason: string): Finding {
  return { check, state: 'unknown', message: `the server refuses INFO: ${messageText(reason)}` };
}
