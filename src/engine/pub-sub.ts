import { chargeScript } from '../lua/index.ts';
import { PushReply } from '../resp/index.ts';
import { stringBytes } from './footprint.ts';
import { matchesGlob } from './glob.ts';
import type { Session } from './session.ts';

/** What can be subscribed to: the same names on a session and here. */
export type SubscriptionKind = 'channels' | 'patterns' | 'shardChannels';

const KINDS = ['channels', 'patterns', 'shardChannels'] as const;

/**
 * What a script pays for a message to one receiver, beside its text. It is more than the outbox takes,
 * because a message is delivered after the script, when its time is no longer measured.
 */
const MESSAGE_BYTES = 1024;

/** A channel name or pattern and who listens to it. */
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
 * Who hears what. Messages are handed to an outbox first: they leave when the command, transaction or
 * script that sent them is over, and never if that script is undone.
 */
export class PubSub {
  readonly channels = new Registry();
  readonly patterns = new Registry();
  readonly shardChannels = new Registry();
  #outbox: { session: Session; message: PushReply }[] = [];

  subscribe(session: Session, kind: SubscriptionKind, name: string): void {
    if (!session[kind].has(name)) session.memory.add('subscriptions', subscriptionBytes(name));
    session[kind].add(name);
    this[kind].add(name, session);
  }

  unsubscribe(session: Session, kind: SubscriptionKind, name: string): void {
    if (session[kind].delete(name)) session.memory.add('subscriptions', -subscriptionBytes(name));
    this[kind].remove(name, session);
  }

  /** Sends to the channel's subscribers and to those whose pattern fits; how many that are. */
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
    return this.#outbox.length > 0;
  }

  deliver(): void {
    const outbox = this.#outbox;
    this.#outbox = [];
    for (const { session, message } of outbox) {
      if (!session.closed) session.listener.push(message);
    }
  }

  /** Where the outbox stands, for `forgetSince`. */
  mark(): number {
    return this.#outbox.length;
  }

  /** Takes back what a script that is undone has published. */
  forgetSince(mark: number): void {
    this.#outbox.length = mark;
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
    for (const session of sessions) this.#outbox.push({ session, message });
    return sessions.size;
  }
}

/** What comparing one message's channel with all patterns may cost: some milliseconds. */
const MAX_PATTERN_STEPS = 2 ** 22;

function subscriptionBytes(name: string): number {
  return SUBSCRIPTION_BYTES + stringBytes(name);
}

/** Entries in the session's set and in the registry, with a set of its own there, and the confirmation. */
export const SUBSCRIPTION_BYTES = 500;
