import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import { createEngine, execute } from '../../engine/index.ts';
import type { CommitLog } from '../../server/index.ts';
import { ReplyTooLargeError, StoreError } from '../../stores/index.ts';
import { EngineServers } from './engine-servers.ts';
import { PageSession } from './page-session.ts';

/** Both ends of the messages of the page. `sent` has the commands that the engine got. */
function connect(log?: CommitLog) {
  const clock = virtualClock();
  const engine = createEngine({ clock, settings: { requirepass: 'secret' } });
  const session = new PageSession(engine, () => log);
  const sent: string[] = [];
  let isSilent = false;
  const servers = new EngineServers(
    'here',
    (order) => {
      if (order.kind !== 'command') return;
      sent.push(order.argv.join(' '));
      if (isSilent) return;
      session.run(order.argv, (bytes) => {
        queueMicrotask(() => servers.receive({ kind: 'reply', id: order.id, bytes }));
      });
    },
    clock,
  );
  const silence = (): void => {
    isSilent = true;
  };
  return { clock, engine, servers, sent, silence };
}

describe('EngineServers', () => {
  it('runs commands with all rights, and is no client', async () => {
    const { servers, engine } = connect();
    expect(await servers.send(['SET', 'a', '\xff'])).toMatchObject({ text: 'OK' });
    expect(await servers.run("return redis.call('GET', KEYS[1])", ['a'], [])).toBe('\xff');
    expect(engine.sessions.size).toBe(0);
    await expect(servers.send(['NOPE'])).rejects.toThrow(/here answers: ERR unknown command/);
  });

  it('sends two commands at a time, and refuses the 67th', async () => {
    const { servers, sent, silence, clock } = connect();
    silence();
    const replies = Array.from({ length: 67 }, () =>
      servers.send(['PING']).catch((error) => error),
    );
    expect(sent).toHaveLength(2);
    expect(await replies[66]).toMatchObject({ message: 'The server is busy.' });
    await clock.advanceAsync(5000);
    expect(await replies[0]).toBeInstanceOf(StoreError);
    servers.close();
    expect(await replies[65]).toMatchObject({ message: 'The server ends.' });
    await expect(servers.send(['PING'])).rejects.toThrow('ends');
  });

  it('rejects at its end what the engine has not replied to', async () => {
    const { servers, silence, clock } = connect();
    silence();
    const reply = servers.send(['PING']).catch((error) => error);
    servers.close();
    expect(await reply).toMatchObject({ message: 'The server ends.' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('refuses a reply that is too large, and answers the next command', async () => {
    const { servers } = connect();
    await servers.send(['SET', 'a', 'x'.repeat(20_000_000)]);
    await expect(servers.send(['MGET', 'a', 'a'])).rejects.toThrow(ReplyTooLargeError);
    expect(await servers.send(['STRLEN', 'a'])).toBe(20_000_000);
  });

  it('waits while clients are paused, and keeps the order', async () => {
    const { servers, engine, clock } = connect();
    const operator = engine.internalSession({ push() {}, resume() {}, close() {} });
    execute(operator, ['CLIENT', 'PAUSE', '1000', 'WRITE']);
    const replies = [servers.send(['INCR', 'n']), servers.send(['GET', 'n'])];
    let isDone = false;
    void replies[1]!.then(() => {
      isDone = true;
    });
    await clock.advanceAsync(900);
    expect(isDone).toBe(false);
    await clock.advanceAsync(200);
    expect(await Promise.all(replies)).toEqual([1, '1']);
  });

  it('gets a reply when the log has the change', async () => {
    let settled = 0;
    const log: CommitLog = {
      commit: () => 7,
      onSettled() {},
      get settled() {
        return settled;
      },
    };
    const { servers, clock } = connect(log);
    let isDone = false;
    void servers.send(['SET', 'a', '1']).then(() => {
      isDone = true;
    });
    await clock.advanceAsync(100);
    expect(isDone).toBe(false);
    settled = 7;
    await clock.advanceAsync(10);
    expect(isDone).toBe(true);
  });
});
