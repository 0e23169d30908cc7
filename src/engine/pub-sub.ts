import { chargeScript } from '../lua/index.ts';
import { PushReply } from '../resp/index.ts';
import { stringBytes } from './footprint.ts';
import { matchesGlob } from './glob.ts';
import type { Session } from './session.ts';

/** The kinds of subscriptions. Session and PubSub have a field of each name. */
export type SubscriptionKind = 'channels' | 'patterns' | 'shardChannels';

const KINDS = ['channels', 'patterns', 'shardChannels'] as const;

/**
 * The bytes that a script is charged for a message to one receiver, beside its text. It is more than the message
 * takes, because the time of the delivery, after the script, is not measured.
 */
const MESSAGE_BYTES = 1024;

/** The subscribers of each channel name or pattern. */
class Registry {
  readonly subscribers = new Map<string, Set<Session>>();

  add(name: string, session: Session): void {
    const sessions = this.subscribers.get(name);
    if (sessions) sessions.add(session);
    else this.subscribers.set(name, new Set([session]));
  }

  remove(name: string, session: Session): void {
    const sessions = this.subscribers.get(name);
    if (sessions?.delete(session) && sessions.size === 0) this.subscribers.delete(name);
  }
}

/**
 * Channels, patterns and their subscribers. Messages are queued first. They are delivered when the unit of work
 * that published them has ended, and dropped if its script is rolled back.
 */
export class PubSub {
  readonly channels = new Registry();
  readonly patterns = new Registry();
  readonly shardChannels = new Registry();
  #queued: { session: Session; message: PushReply }[] = [];

  subscribe(session: Session, kind: SubscriptionKind, name: string): void {
    if (!session[kind].has(name)) session.memory.add('subscriptions', subscriptionBytes(name));
    session[kind].add(name);
    this[kind].add(name, session);
  }

  unsubscribe(session: Session, kind: SubscriptionKind, name: string): void {
    if (session[kind].delete(name)) session.memory.add('subscriptions', -subscriptionBytes(name));
    this[kind].remove(name, session);
  }

  /** Sends to the subscribers of the channel and of matching patterns. Returns the number of receivers. */
  publish(channel: string, payload: string): number {
    let receivers = this.#send(this.channels, channel, ['message', channel, payload]);
    const budget = { steps: MAX_PATTERN_STEPS };
    for (const pattern of this.patterns.subscribers.keys()) {
      if (!matchesGlob(pattern, channel, budget)) continue;
      receivers += this.#send(this.patterns, pattern, ['pmessage', pattern, channel, payload]);
    }
    return receivers;
  }

  publishToShard(channel: string, payload: string): number {
    return this.#send(this.shardChannels, channel, ['smessage', channel, payload]);
  }

  get hasMessages(): boolean {
    return this.#queued.length > 0;
  }

  deliver(): void {
    const queued = this.#queued;
    this.#queued = [];
    for (const { session, message } of queued) {
      if (!session.closed) session.listener.push(message);
    }
  }

  /** The number of queued messages, for `forgetSince`. */
  mark(): number {
    return this.#queued.length;
  }

  /** Drops the messages since `mark`: the script that published them is rolled back. */
  forgetSince(mark: number): void {
    this.#queued.length = mark;
  }

  /** Ends every subscription of a session. */
  leave(session: Session): void {
    for (const kind of KINDS) {
      for (const name of session[kind]) this[kind].remove(name, session);
      session[kind].clear();
    }
    session.memory.set('subscriptions', 0);
  }

  #send(registry: Registry, name: string, items: readonly string[]): number {
    const sessions = registry.subscribers.get(name);
    if (sessions === undefined) return 0;
    const bytes = items.reduce((sum, { length }) => sum + length, MESSAGE_BYTES);
    chargeScript(sessions.size * bytes);
    const message = new PushReply(items);
    for (const session of sessions) this.#queued.push({ session, message });
    return sessions.size;
  }
}

/** Limit of matching one message's channel against all patterns: some milliseconds. */
const MAX_PATTERN_STEPS = 2 ** 22;

function subscriptionBytes(name: string): number {
  return SUBSCRIPTION_BYTES + stringBytes(name);
}

/** The memory of a subscription: entries in the session's Set and in the registry, and the confirmation. */
export const SUBSCRIPTION_BYTES = 500;
