import { randomBytes } from 'node:crypto';
import type { ExitCommands, ScriptRunner } from '../client/index.ts';
import type { Clock } from '../clock/index.ts';
import { ChangeFeed } from './change-feed.ts';
import { CacheCalls } from './redis-cache-calls.ts';
import type {
  CacheLookup,
  CacheMessage,
  CacheStore,
  Encoded,
  Entry,
  FailedLoad,
  LoadFailure,
  LoadTimes,
  MessageListener,
  SetValue,
  Tags,
  Write,
} from './store.ts';

const TIMEOUT_MS = 5000;

/** A server that runs scripts, as a lock store uses it. */
export interface ScriptedServer {
  readonly scripts: ScriptRunner;
  readonly session: ExitCommands | undefined;
  /** Prefix of all keys. */
  readonly prefix: string;
}

/** Keeps values in Redis. The first wait opens one subscription, which serves all keys. */
export class RedisCacheStore implements CacheStore {
  readonly changes: ChangeFeed;
  readonly #runner: ScriptRunner;
  readonly #calls: CacheCalls;
  readonly #prefix: string;
  /** Unique among all clients, and so are the versions that this client makes. */
  readonly #clientId = randomBytes(12).toString('base64url');
  readonly #channel = `holdfast:cache:${this.#clientId}`;
  readonly #listeners = new Set<MessageListener>();
  #listening: Promise<void> | undefined;
  #lastVersion = 0;

  constructor({ scripts, session, prefix }: ScriptedServer, clock: Clock) {
    this.#runner = scripts;
    this.#prefix = prefix;
    this.changes = new ChangeFeed(scripts, clock, prefix);
    this.#calls = new CacheCalls(scripts, clock, TIMEOUT_MS, session);
  }

  async lookup(key: string, tags: Tags): Promise<CacheLookup> {
    const request = this.#calls.read(this.#keyOf(key), 'lookup');
    if (tags.length === 0) return toLookup(await request, '');
    const [reply, tagVersions] = await Promise.all([request, this.#tagVersions(tags)]);
    return toLookup(reply, tagVersions);
  }

  /** With a session: when this process dies, the server releases its mutex and then wakes the waiters. */
  open(key: string, tags: Tags, times: LoadTimes, fence: number): Promise<CacheLookup> {
    this.#calls.setExit(exitNameOf(key, fence), this.#keyOf(key), 'wake');
    return this.#open('open', key, tags, times, String(fence));
  }

  async wait(key: string, tags: Tags, times: LoadTimes): Promise<CacheLookup> {
    await this.#listen();
    const waiter = `${this.#channel} ${Buffer.from(key).toString('base64url')}`;
    return this.#open('wait', key, tags, times, waiter);
  }

  async write(key: string, tags: Tags, write: Write): Promise<boolean> {
    const [keyVersion, tagVersions] = splitAt(write.version, ' ');
    const [fresh, stale] = [wholeText(write.freshMs), wholeText(write.staleMs)];
    const args = [String(write.fence), keyVersion, fresh, stale, valueText(write, stale)];
    const [isKept, tagVersionsNow] = await Promise.all([
      this.#calls.send(this.#keyOf(key), 'write', ...args),
      this.#tagVersions(tags),
    ]);
    return Number(isKept) === 1 && tagVersionsNow === tagVersions;
  }

  async set(key: string, tags: Tags, { data, freshMs, staleMs }: SetValue): Promise<void> {
    const keyVersion = this.#newVersion();
    const version = `${keyVersion} ${await this.#tagVersions(tags, freshMs + staleMs)}`;
    const stale = wholeText(staleMs);
    const life = String(Number(wholeText(freshMs)) + Number(stale));
    const text = valueText({ data, version, fence: 0, loadMs: 0 }, stale);
    await this.#calls.send(this.#keyOf(key), 'set', keyVersion, life, text);
  }

  async fail(key: string, failed: FailedLoad): Promise<number> {
    const { fence, version, pauseMs, maxPauseMs, name, message } = failed;
    const args = [String(fence), ...splitAt(version, ' ')];
    const times = [wholeText(pauseMs), wholeText(maxPauseMs)];
    const error = JSON.stringify([name, message, fence, version]);
    return Number(await this.#calls.send(this.#keyOf(key), 'fail', ...args, ...times, error));
  }

  async wake(key: string, fence?: number): Promise<void> {
    await this.#calls.send(this.#keyOf(key), 'wake');
    if (fence !== undefined) this.#calls.dropExit(exitNameOf(key, fence));
  }

  async delete(keys: readonly string[]): Promise<number> {
    const counts = await Promise.all(
      keys.map((key) => this.#calls.send(this.#keyOf(key), 'delete')),
    );
    return counts.reduce<number>((sum, count) => sum + Number(count), 0);
  }

  async invalidate(tags: Tags): Promise<void> {
    await Promise.all(tags.map((tag) => this.#calls.send(this.#tagKeyOf(tag), 'invalidate')));
  }

  onMessage(listener: MessageListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#calls.close();
  }

  async #open(
    verb: string,
    key: string,
    tags: Tags,
    { maxLoadMs, keepMs }: LoadTimes,
    fenceOrWaiter: string,
  ): Promise<CacheLookup> {
    const loadText = wholeText(maxLoadMs);
    const [reply, tagVersions] = await Promise.all([
      this.#calls.send(this.#keyOf(key), verb, loadText, this.#newVersion(), fenceOrWaiter),
      this.#tagVersions(tags, maxLoadMs + keepMs),
    ]);
    return toLookup(reply, tagVersions);
  }

  /** Returns the versions of the tags. With `keepMs`, missing ones are made and kept for so long. */
  async #tagVersions(tags: Tags, keepMs = 0): Promise<string> {
    if (tags.length === 0) return '';
    const versions = await Promise.all(tags.map((tag) => this.#tagVersion(tag, keepMs)));
    return JSON.stringify(tags.map((tag, index) => [tag, versions[index]]));
  }

  #tagVersion(tag: string, keepMs: number): Promise<unknown> {
    const key = this.#tagKeyOf(tag);
    if (keepMs === 0) return this.#calls.read(key, 'version', '0', '');
    return this.#calls.send(key, 'version', wholeText(keepMs), this.#newVersion());
  }

  #keyOf(key: string): string {
    return `${this.#prefix}value:{cache:${key}}`;
  }

  #tagKeyOf(tag: string): string {
    return `${this.#prefix}tag:{cache:${tag}}`;
  }

  #newVersion(): string {
    return `${this.#clientId}.${(++this.#lastVersion).toString(36)}`;
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#runner
      .listen(
        this.#channel,
        (text) => this.#notify(toMessage(text)),
        () => this.#notify(undefined),
      )
      .catch((error: unknown) => {
        this.#listening = undefined;
        throw error;
      });
    return this.#listening;
  }

  #notify(message: CacheMessage | undefined): void {
    for (const listener of this.#listeners) listener(message);
  }
}

function exitNameOf(key: string, fence: number): string {
  return `wake ${fence} ${key}`;
}

/** A value or a failure with other tags, or with other versions of its tags, does not count. */
function toLookup(reply: unknown, tagVersions: string): CacheLookup {
  const [left, text, keyVersion = '', fence = '0', error = '', errorLeftMs] = reply as unknown[];
  const version = `${String(keyVersion)} ${tagVersions}`;
  const lastFence = Number(fence);
  const failure = error === '' ? undefined : parseFailure(String(error), Number(errorLeftMs));
  const entry = text === '' ? undefined : parseValue(String(text), Number(left));
  return {
    entry: withTags(entry, tagVersions),
    failure: withTags(failure, tagVersions),
    version,
    lastFence,
  };
}

function withTags<Thing extends Entry | LoadFailure>(
  thing: Thing | undefined,
  tagVersions: string,
): Thing | undefined {
  return thing !== undefined && splitAt(thing.version, ' ')[1] === tagVersions ? thing : undefined;
}

/** `<stale> <fence> <load> <length of the version> <version><data>` */
function valueText(
  { fence, loadMs, version, data }: Omit<Write, 'freshMs' | 'staleMs'>,
  stale: string,
): string {
  return `${stale} ${fence} ${wholeText(loadMs)} ${version.length} ${version}${toText(data)}`;
}

/** Undefined for a text that this library has not written, or that has no TTL. */
function parseValue(text: string, leftMs: number): Entry | undefined {
  if (leftMs <= 0) return undefined;
  const staleEnd = text.indexOf(' ');
  const fenceEnd = text.indexOf(' ', staleEnd + 1);
  const loadEnd = text.indexOf(' ', fenceEnd + 1);
  const lengthEnd = text.indexOf(' ', loadEnd + 1);
  const versionEnd = lengthEnd + 1 + Number(text.slice(loadEnd + 1, lengthEnd));
  const data = fromText(text, versionEnd);
  if (data === undefined) return undefined;
  return {
    data,
    fence: Number(text.slice(staleEnd + 1, fenceEnd)),
    freshLeftMs: leftMs - Number(text.slice(0, staleEnd)),
    leftMs,
    loadMs: Number(text.slice(fenceEnd + 1, loadEnd)),
    version: text.slice(lengthEnd + 1, versionEnd),
  };
}

/** `[name, message, fence, version]`; undefined for a text that this library has not written. */
function parseFailure(text: string, leftMs: number): LoadFailure | undefined {
  try {
    const [name, message, fence, version] = JSON.parse(text);
    return { name, message, leftMs: Math.max(0, leftMs), fence, version: String(version) };
  } catch {
    return undefined;
  }
}

/** `<key> value <left> <text>`, `<key> error <pause> <error>` or `<key> again`. */
function toMessage(text: string): CacheMessage {
  const [name, rest] = splitAt(text, ' ');
  const key = Buffer.from(name, 'base64url').toString();
  const [kind, content] = splitAt(rest, ' ');
  const [leftMs, sent] = splitAt(content, ' ');
  if (kind === 'error') return { key, failure: parseFailure(sent, Number(leftMs)) };
  if (kind === 'value') return { key, entry: parseValue(sent, Number(leftMs)) };
  return { key };
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Clients send and receive UTF-8, so bytes are sent as base64, and so is text with half a surrogate pair. */
function toText(data: Encoded): string {
  if (typeof data === 'string') {
    const isWhole = !/\p{Surrogate}/u.test(data);
    return isWhole ? `t${data}` : `u${Buffer.from(data, 'utf16le').toString('base64')}`;
  }
  return `b${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')}`;
}

function fromText(text: string, start: number): Encoded | undefined {
  const kind = text[start];
  if (kind === 't') return text.slice(start + 1);
  if (kind !== 'b' && kind !== 'u') return undefined;
  const bytes = Buffer.from(text.slice(start + 1), 'base64');
  return kind === 'b' ? bytes : bytes.toString('utf16le');
}

function wholeText(number: number): string {
  return String(Math.ceil(number));
}
