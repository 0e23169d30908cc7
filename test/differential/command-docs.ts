import { MapReply, type Reply, SetReply, SimpleReply } from '../../src/resp/index.ts';
import type { RawClient } from './raw-client.ts';

/** An argument as Redis describes it in COMMAND DOCS. */
export interface ArgumentDocs {
  readonly name: string;
  readonly type: string;
  readonly token?: string;
  readonly flags: readonly string[];
  readonly arguments: readonly ArgumentDocs[];
}

export interface CommandDocs {
  /** `get`, or `client|id`. */
  readonly name: string;
  readonly group: string;
  readonly arguments: readonly ArgumentDocs[];
}

/** Reads COMMAND DOCS of a server: all commands and subcommands, without containers. */
export async function readCommandDocs(
  redis: Pick<RawClient, 'request'>,
): Promise<Map<string, CommandDocs>> {
  await redis.request('HELLO', '3');
  const docs = plain(await redis.request('COMMAND', 'DOCS')) as Record<string, RawDocs>;
  return new Map(flatten(docs).map((each) => [each.name, each]));
}

interface RawDocs {
  readonly group: string;
  readonly arguments?: readonly RawArgument[];
  readonly subcommands?: Record<string, RawDocs>;
}

interface RawArgument extends Omit<ArgumentDocs, 'flags' | 'arguments'> {
  readonly flags?: readonly string[];
  readonly arguments?: readonly RawArgument[];
}

function flatten(docs: Record<string, RawDocs>): CommandDocs[] {
  return Object.entries(docs).flatMap(([name, each]) =>
    each.subcommands
      ? flatten(each.subcommands)
      : [{ name, group: each.group, arguments: (each.arguments ?? []).map(complete) }],
  );
}

function complete(argument: RawArgument): ArgumentDocs {
  const { flags = [], arguments: inner = [] } = argument;
  return { ...argument, flags, arguments: inner.map(complete) };
}

/** Converts maps to objects, sets to arrays and simple strings to strings. */
export function plain(reply: Reply): unknown {
  if (reply instanceof MapReply) {
    return Object.fromEntries(reply.entries.map(([key, value]) => [String(key), plain(value)]));
  }
  if (reply instanceof SetReply) return reply.members.map(plain);
  if (reply instanceof SimpleReply) return reply.text;
  return Array.isArray(reply) ? reply.map(plain) : reply;
}
