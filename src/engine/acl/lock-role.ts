import { createHash } from 'node:crypto';
import type { Command } from '../command.ts';
import { lower } from '../text.ts';

/** What the category `lock` allows beside its commands. The program that starts the engine knows the library. */
export interface LockRoleOptions {
  /** The texts of the library's scripts. */
  readonly scripts: readonly string[];
  /** Prefixes of the keys that these scripts use beside the keys of locks. */
  readonly keyPrefixes: readonly string[];
  /** Prefixes of the channels on which the library is notified. */
  readonly channelPrefixes: readonly string[];
}

/** The name of the category. Redis does not have it. */
export const LOCK_CATEGORY = 'lock';

/** The commands that the library, its cache and the command line send, beside scripts. */
const PLAIN_COMMANDS: ReadonlySet<string> = new Set([
  'ping',
  'select',
  'subscribe',
  'unsubscribe',
  // The library and ioredis send it with each connection: a refusal each time would hide others in ACL LOG.
  'info',
  'client|id',
  'client|info',
  'client|setinfo',
  'client|setname',
  'holdfast.session',
  'holdfast.will|set',
  'holdfast.will|drop',
  'holdfast.history|key',
]);

/** The commands that the category allows with scripts of the library only, by the position of the script. */
const SCRIPT_COMMANDS: ReadonlyMap<string, number> = new Map([
  ['eval', 1],
  ['evalsha', 1],
  ['script|load', 2],
]);

/** Whether the category contains a command: always, or with a script of the library only. */
export function lockRight({ name }: Command): 'always' | 'with-known-script' | undefined {
  if (PLAIN_COMMANDS.has(name)) return 'always';
  return SCRIPT_COMMANDS.has(name) ? 'with-known-script' : undefined;
}

/** The scripts, keys and channels of the category `lock`. */
export class LockRole {
  readonly #hashes: ReadonlySet<string>;
  readonly #texts: ReadonlySet<string>;
  readonly #options: LockRoleOptions;

  constructor(options: LockRoleOptions = { scripts: [], keyPrefixes: [], channelPrefixes: [] }) {
    this.#options = options;
    // The engine's strings have one char for each byte.
    const texts = options.scripts.map((text) => Buffer.from(text).toString('latin1'));
    this.#texts = new Set(texts);
    this.#hashes = new Set(texts.map(hashOf));
  }

  isKnownScript(sha: string): boolean {
    return this.#hashes.has(lower(sha));
  }

  /** Whether the command runs or loads a script of the library. */
  sendsKnownScript({ name }: Command, argv: readonly string[]): boolean {
    const script = argv[SCRIPT_COMMANDS.get(name) ?? argv.length];
    if (script === undefined) return false;
    return name === 'evalsha' ? this.isKnownScript(script) : this.#texts.has(script);
  }

  ownsKey(key: string): boolean {
    return this.#options.keyPrefixes.some((prefix) => key.startsWith(prefix));
  }

  ownsChannel(channel: string): boolean {
    return this.#options.channelPrefixes.some((prefix) => channel.startsWith(prefix));
  }
}

function hashOf(text: string): string {
  return createHash('sha1').update(text, 'latin1').digest('hex');
}
