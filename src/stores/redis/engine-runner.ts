import type { ScriptRunner } from '../../client/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { ErrorReply, type Reply, SimpleReply } from '../../resp/index.ts';

/** Runs scripts on an engine in this process: the same scripts as on Redis, without a socket. */
export function engineRunner(engine: Engine = createEngine()): ScriptRunner {
  const session = engine.session();
  const listeners: { close(): void }[] = [];
  return {
    async run(script, keys, args) {
      const bytes = [...keys, ...args].map(toBytes);
      const reply = execute(session, ['EVAL', script.text, String(keys.length), ...bytes]);
      if (reply instanceof ErrorReply) throw new Error(reply.message);
      if (typeof reply === 'symbol') throw new Error('a script blocked');
      return fromReply(reply);
    },
    async listen(channel, onMessage) {
      const listener = engine.session({
        push: (reply) => onMessage(messageText(reply)),
        resume() {},
        close() {},
      });
      execute(listener, ['SUBSCRIBE', channel]);
      listeners.push(listener);
    },
    async close() {
      session.close();
      for (const listener of listeners) listener.close();
    },
  };
}

function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function fromReply(reply: Reply): unknown {
  if (typeof reply === 'string') return Buffer.from(reply, 'latin1').toString('utf8');
  if (reply instanceof SimpleReply) return reply.text;
  return Array.isArray(reply) ? reply.map(fromReply) : reply;
}

function messageText(reply: Reply): string {
  const items = typeof reply === 'object' && reply !== null && 'items' in reply ? reply.items : [];
  return String(fromReply(items[2] ?? ''));
}
