import { randomUUID } from 'node:crypto';
import type {
  CacheStore,
  Encoded,
  Entry,
  Failed,
  Failure,
  News,
  NewsListener,
  Sight,
  Stamped,
  Tags,
  Write,
} from '../cache/index.ts';
import type { Clock } from '../clock/index.ts';
import type { LockStore } from '../lock/index.ts';
import { CacheCalls } from './cache-calls.ts';
import { type ScriptRunner, ScriptStore } from './script-store.ts';

const TIMEOUT_MS = 5000;
const DAY_MS = 86_400_000;

/** Where values live beside the locks of a store; undefined if that keeps nothing but locks. */
export function cacheStoreBeside(store: LockStore, clock: Clock): CacheStore | undefined {
  return store instanceof ScriptStore ? new ScriptCacheStore(store.runner, clock) : undefined;
}

/** Values in Redis, or in whatever runs its scripts. One subscription, opened by the first wait, serves all keys. */
class ScriptCacheStore implements CacheStore {
  readonly #runner: ScriptRunner;
  readonly #calls: CacheCalls;
  readonly #channel = `holdfast:cache:${randomUUID()}`;
  readonly #listeners = new Set<NewsListener>();
  #listening: Promise<void> | undefined;

  constructor(runner: ScriptRunner, clock: Clock) {
    this.#runner = runner;
    this.#calls = new CacheCalls(runner, clock, TIMEOUT_MS);
  }

  async look(key: string, tags: Tags): Promise<Stamped> {
    const looking = this.#calls.look(keyOf(key));
    if (tags.length === 0) return toSight(await looking, '');
    const [reply, stamp] = await Promise.all([looking, this.#tagStamp(tags)]);
    return toSight(reply, stamp);
  }

  async open(key: string, tags: Tags, keepMs: number): Promise<Stamped> {
    const [reply, stamp] = await Promise.all([
      this.#calls.send(keyOf(key), 'open'),
      this.#tagStamp(tags, keepMs + DAY_MS),
    ]);
    return toSight(reply, stamp);
  }

  async wait(key: string, tags: Tags): Promise<Sight> {
    await this.#listen();
    const waiter = `${this.#channel} ${Buffer.from(key).toString('base64url')}`;
    const [reply, stamp] = await Promise.all([
      this.#calls.send(keyOf(key), 'wait', waiter),
      this.#tagStamp(tags),
    ]);
    return toSight(reply, stamp);
  }

  async write(key: string, tags: Tags, write: Write): Promise<boolean> {
    const [epoch, stamp] = splitAt(write.stamp, ' ');
    const [fresh, stale] = [wholeText(write.freshMs), wholeText(write.staleMs)];
    const words = [String(write.fence), epoch, fresh, stale, valueText(write, stale)];
    const [isKept, stampNow] = await Promise.all([
      this.#calls.send(keyOf(key), 'write', ...words),
      this.#tagStamp(tags),
    ]);
    return Number(isKept) === 1 && stampNow === stamp;
  }

  async fail(key: string, failed: Failed): Promise<number> {
    const { fence, pauseMs, longestPauseMs, name, message } = failed;
    const words = [String(fence), wholeText(pauseMs), wholeText(longestPauseMs)];
    const error = JSON.stringify([name, message]);
    return Number(await this.#calls.send(keyOf(key), 'fail', ...words, error));
  }

  async wake(key: string): Promise<void> {
    await this.#calls.send(keyOf(key), 'wake');
  }

  async delete(keys: readonly string[]): Promise<number> {
    const counts = await Promise.all(keys.map((key) => this.#calls.send(keyOf(key), 'delete')));
    return counts.reduce<number>((sum, count) => sum + Number(count), 0);
  }

  async invalidate(tags: Tags): Promise<void> {
    await Promise.all(tags.map((tag) => this.#calls.send(tagKeyOf(tag), 'forget')));
  }

  onNews(listener: NewsListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#calls.close();
  }

  /** The versions of tags. Those that are missing are made, if somebody is about to load. */
  async #tagStamp(tags: Tags, keepMs = 0): Promise<string> {
    if (tags.length === 0) return '';
    const made = keepMs > 0 ? randomUUID() : '';
    const versions = await Promise.all(
      tags.map((tag) => this.#calls.send(tagKeyOf(tag), 'version', wholeText(keepMs), made)),
    );
    return JSON.stringify(tags.map((tag, index) => [tag, versions[index]]));
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#runner
      .listen(
        this.#channel,
        (text) => this.#tell(toNews(text)),
        () => this.#tell(undefined),
      )
      .catch((error: unknown) => {
        this.#listening = undefined;
        throw error;
      });
    return this.#listening;
  }

  #tell(news: News | undefined): void {
    for (const listener of this.#listeners) listener(news);
  }
}

function keyOf(key: string): string {
  return `value:{cache:${key}}`;
}

function tagKeyOf(tag: string): string {
  return `tag:{cache:${tag}}`;
}

/** A value that carries other versions of its tags, or other tags, is not there. */
function toSight(reply: unknown, tagStamp: string): Stamped {
  const [left, text, epoch = '', error = '', errorLeftMs] = reply as unknown[];
  const stamp = `${String(epoch)} ${tagStamp}`;
  const failure = error === '' ? undefined : toFailure(String(error), Number(errorLeftMs));
  if (text === '') return { failure, stamp };
  const entry = parseValue(String(text), Number(left));
  const isValid = splitAt(entry.stamp, ' ')[1] === tagStamp;
  return { entry: isValid ? entry : undefined, failure, stamp };
}

/** `<stale> <fence> <load> <length of the stamp> <stamp><data>` */
function valueText({ fence, loadMs, stamp, data }: Write, stale: string): string {
  return `${stale} ${fence} ${wholeText(loadMs)} ${stamp.length} ${stamp}${toText(data)}`;
}

function parseValue(text: string, leftMs: number): Entry {
  const staleEnd = text.indexOf(' ');
  const fenceEnd = text.indexOf(' ', staleEnd + 1);
  const loadEnd = text.indexOf(' ', fenceEnd + 1);
  const lengthEnd = text.indexOf(' ', loadEnd + 1);
  const stampEnd = lengthEnd + 1 + Number(text.slice(loadEnd + 1, lengthEnd));
  return {
    data: fromText(text.slice(stampEnd)),
    fence: Number(text.slice(staleEnd + 1, fenceEnd)),
    freshLeftMs: leftMs - Number(text.slice(0, staleEnd)),
    loadMs: Number(text.slice(fenceEnd + 1, loadEnd)),
    stamp: text.slice(lengthEnd + 1, stampEnd),
  };
}

function toFailure(text: string, leftMs: number): Failure {
  const [name, message] = JSON.parse(text);
  return { name, message, leftMs: Math.max(0, leftMs) };
}

/** `<key> value <left> <text>`, `<key> error <pause> <error>` or `<key> again`. */
function toNews(text: string): News {
  const [word, rest] = splitAt(text, ' ');
  const key = Buffer.from(word, 'base64url').toString();
  const [kind, content] = splitAt(rest, ' ');
  const [leftMs, told] = splitAt(content, ' ');
  if (kind === 'error') return { key, failure: toFailure(told, Number(leftMs)) };
  if (kind === 'value') return { key, entry: parseValue(told, Number(leftMs)) };
  return { key };
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Clients send and give text, so bytes travel as base64. */
function toText(data: Encoded): string {
  if (typeof data === 'string') return `t${data}`;
  return `b${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')}`;
}

function fromText(text: string): Encoded {
  return text.startsWith('b') ? Buffer.from(text.slice(1), 'base64') : text.slice(1);
}

function wholeText(number: number): string {
  return String(Math.ceil(number));
}
