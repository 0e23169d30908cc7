import type { SendCommand } from '../stores/index.ts';
import type { ServerFigures } from './protocol.ts';

const MAX_SLOWEST = 20;
const MAX_COMMAND_CHARS = 200;

/** Reads INFO and SLOWLOG of a server. */
export async function readFigures(send: SendCommand): Promise<ServerFigures> {
  const info = parseInfo(String(await send(['INFO'])));
  const entries = (await send(['SLOWLOG', 'GET', '128'])) as SlowEntry[];
  return figuresOf(info, entries);
}

type SlowEntry = [id: number, atS: number, tookUs: number, args: string[]];

/** The lines of INFO by their names. */
export function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').filter((line) => !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

function figuresOf(
  info: ReadonlyMap<string, string>,
  entries: readonly SlowEntry[],
): ServerFigures {
  const number = (name: string): number => Number(info.get(name) ?? 0) || 0;
  const isFailing = info.get('aof_last_write_status') !== 'ok';
  return {
    uptimeS: number('uptime_in_seconds'),
    clients: number('connected_clients'),
    blockedClients: number('blocked_clients'),
    memoryBytes: number('used_memory'),
    maxMemoryBytes: number('maxmemory'),
    commandsPerS: number('instantaneous_ops_per_sec'),
    keys: keysIn(info),
    log:
      info.get('aof_enabled') === '1'
        ? {
            isFailing,
            pendingBytes: number('aof_buffer_length'),
            fileBytes: number('aof_current_size'),
          }
        : null,
    slowest: slowestOf(entries),
  };
}

/** `db0:keys=3,expires=0,avg_ttl=0`, for each database. */
function keysIn(info: ReadonlyMap<string, string>): number {
  let keys = 0;
  for (const [name, value] of info) {
    if (/^db\d+$/.test(name)) keys += Number(/^keys=(\d+)/.exec(value)?.[1] ?? 0);
  }
  return keys;
}

function slowestOf(entries: readonly SlowEntry[]): ServerFigures['slowest'] {
  return entries
    .map(([, atS, tookUs, args]) => ({ atMs: atS * 1000, tookUs, command: commandText(args) }))
    .sort((one, other) => other.tookUs - one.tookUs)
    .slice(0, MAX_SLOWEST);
}

function commandText(args: readonly string[]): string {
  const text = Buffer.from(args.join(' '), 'latin1').toString('utf8');
  return text.length > MAX_COMMAND_CHARS ? `${text.slice(0, MAX_COMMAND_CHARS)}…` : text;
}
