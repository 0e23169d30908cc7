import type { ListedKey } from '../../stores/index.ts';
import type { KeyList } from '../ls/key-list.ts';
import { endText, keyKindText } from '../ls/key-table.ts';
import { unreadableText } from '../ls/unreadable.ts';
import { counted, durationText, shortValue } from '../ls/words.ts';
import { messageText, printable } from '../printable.ts';
import type { ClockOffset, InfoSection, ServerFacts } from './facts.ts';

/** The result of one check. `unknown`: the server refuses the command that it needs. */
export interface Finding {
  readonly check: 'expiry' | 'eviction' | 'clock' | 'role';
  readonly state: 'ok' | 'warning' | 'unknown';
  readonly message: string;
}

/** Findings about one server. */
export function serverFindings({ memory, replication, cluster, clock }: ServerFacts): Finding[] {
  const role = roleFinding(replication);
  return [
    evictionFinding(memory),
    clockFinding(clock),
    role.state === 'ok' ? (clusterFinding(cluster) ?? role) : role,
  ];
}

const MAX_NAMED = 10;

/** A lock without a TTL stays locked when its holder dies. */
export function expiryFinding(list: KeyList, pattern: string, nowMs: number): Finding {
  const { keys, isCut } = list;
  const shown = printable(pattern);
  const lack = unreadableText(list, 'key', pattern);
  if (keys.length === 0 && lack !== '') return unknown('expiry', lack);
  if (keys.length === 0) return ok('expiry', `every lock key that matches ${shown} has a TTL`);
  const names = keys.slice(0, MAX_NAMED).map((key) => nameText(key, nowMs));
  const rest = keys.length - names.length;
  const count = `${isCut ? 'more than ' : ''}${counted(keys.length, 'lock key')}`;
  return warning(
    'expiry',
    `${count} without a TTL, by the pattern ${shown}: ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. ` +
      'The server does not end such a lock when its holder dies: find out who holds it, then delete the key.' +
      (lack === '' ? '' : ` ${lack}`),
  );
}

function nameText(key: ListedKey, nowMs: number): string {
  const end = endText(key.guess, nowMs);
  return `${shortValue(key.keyBytes, printable)} (${keyKindText(key)}${end === '' ? '' : `, ${end}`})`;
}

function evictionFinding(memory: InfoSection): Finding {
  if ('refusal' in memory) return refused('eviction', memory.refusal);
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory.text)?.[1];
  if (policy === undefined) {
    return unknown('eviction', 'INFO memory has no maxmemory_policy');
  }
  if (policy === 'noeviction') return ok('eviction', 'maxmemory-policy is noeviction');
  const hasLimit = !/^maxmemory:0\r?$/m.test(memory.text);
  const when = hasLimit
    ? 'When its memory is full'
    : 'When it gets a limit (maxmemory) and is full';
  return warning(
    'eviction',
    `maxmemory-policy is ${messageText(policy)}. ${when}, the server deletes locks that are held. ` +
      'Set it to noeviction, or give locks a server of their own.',
  );
}

/** Recipes with timestamps count in whole seconds. */
const MAX_OFFSET_MS = 1000;

function clockFinding({ offsetMs, marginMs }: ClockOffset): Finding {
  const atLeastMs = Math.abs(offsetMs) - marginMs;
  if (atLeastMs <= MAX_OFFSET_MS && marginMs > MAX_OFFSET_MS) {
    const tookText = durationText(2 * marginMs);
    return unknown('clock', `the server took ${tookText} to answer: too long to compare clocks`);
  }
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
  const role = /^role:(\S+)/m.exec(replication.text)?.[1];
  if (role === undefined) return unknown('role', 'INFO replication has no role');
  if (role === 'master') return ok('role', 'is a master');
  const what = role === 'slave' ? 'a replica' : messageText(role);
  return warning(
    'role',
    `the server is ${what}: it refuses writes, and may not have the newest locks. Name its master.`,
  );
}

/** A node that serves no slot, or whose cluster is down, refuses every command with a key. */
function clusterFinding(cluster: InfoSection): Finding | undefined {
  if ('refusal' in cluster) {
    return unknown('role', `the server refuses CLUSTER INFO: ${messageText(cluster.refusal)}`);
  }
  const state = /^cluster_state:(\S+)/m.exec(cluster.text)?.[1] ?? 'ok';
  if (state === 'ok') return undefined;
  const slots = /^cluster_slots_ok:(\d+)/m.exec(cluster.text)?.[1] ?? 'some';
  return warning(
    'role',
    `the cluster is down (cluster_state ${messageText(state)}, ${slots} of 16384 slots are served): it refuses ` +
      'commands with keys. Give each slot a master that runs.',
  );
}

function ok(check: Finding['check'], message: string): Finding {
  return { check, state: 'ok', message };
}

function warning(check: Finding['check'], message: string): Finding {
  return { check, state: 'warning', message };
}

function unknown(check: Finding['check'], message: string): Finding {
  return { check, state: 'unknown', message };
}

function refused(check: Finding['check'], reason: string): Finding {
  return unknown(check, `the server refuses INFO: ${messageText(reason)}`);
}
