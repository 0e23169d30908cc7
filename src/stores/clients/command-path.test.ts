import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import { type CallerClient, CommandPath, databaseOf, type OwnClient } from './command-path.ts';

/** A client that replies only while `isAlive`. */
class FakeClient implements OwnClient {
  isAlive = true;
  isReady = true;
  databaseNumber = 5;
  closes = 0;
  readonly sent: string[] = [];
  readonly #name: string;
  #replies: (() => void)[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  readonly isConnected = (): boolean => this.isReady;
  readonly database = async (): Promise<number> => this.databaseNumber;

  evalsha(sha: string, keys: string[]): Promise<unknown> {
    return this.#send(`${sha} ${keys}`);
  }

  eval(text: string, keys: string[]): Promise<unknown> {
    return this.#send(`${text} ${keys}`);
  }

  command(args: string[]): Promise<unknown> {
    return this.#send(args.join(' '));
  }

  close(): void {
    this.closes++;
  }

  /** Replies to all pending requests. */
  revive(): void {
    this.isAlive = true;
    for (const reply of this.#replies.splice(0)) reply();
  }

  #send(request: string): Promise<unknown> {
    this.sent.push(request);
    if (this.isAlive) return Promise.resolve(this.#name);
    return new Promise((resolve) => this.#replies.push(() => resolve(this.#name)));
  }
}

interface SceneOptions {
  readonly database?: (() => Promise<number>) | undefined;
  readonly duplicatesAnswer?: boolean;
  readonly duplicatesDatabase?: number;
  readonly duplicateThrows?: boolean;
}

class Scene {
  readonly clock = virtualClock();
  readonly caller = new FakeClient('caller');
  readonly duplicates: FakeClient[] = [];
  readonly databases: (number | undefined)[] = [];
  readonly path: CommandPath;

  constructor({
    database = async () => 5,
    duplicatesAnswer = true,
    duplicatesDatabase = 5,
    duplicateThrows = false,
  }: SceneOptions = {}) {
    const { caller } = this;
    const client: CallerClient = {
      isConnected: caller.isConnected,
      evalsha: (sha, keys) => caller.evalsha(sha, keys),
      eval: (text, keys) => caller.eval(text, keys),
      command: (args) => caller.command(args),
      database,
      duplicate: (number) => {
        if (duplicateThrows) throw new Error('no duplicate');
        const own = new FakeClient(`duplicate ${this.duplicates.length + 1}`);
        own.isAlive = duplicatesAnswer;
        own.databaseNumber = duplicatesDatabase;
        this.duplicates.push(own);
        this.databases.push(number);
        return own;
      },
    };
    this.path = new CommandPath(client, this.clock);
  }

  request(): Promise<unknown> {
    return this.path.evalsha('sha', ['key'], []).catch((error: Error) => error.message);
  }

  async advance(durationMs: number): Promise<void> {
    this.clock.advance(durationMs);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CommandPath', () => {
  it('uses the client of the caller while it gets replies, and leaves no timer', async () => {
    const scene = new Scene();
    for (let count = 0; count < 10; count++) {
      expect(await scene.request()).toBe('caller');
      await scene.advance(1000);
    }
    await scene.advance(3000);
    expect([scene.duplicates.length, scene.clock.pendingTimers]).toEqual([0, 0]);
  });

  it('moves to a duplicate when a request has had no reply for 3 s, and rejects that request', async () => {
    const scene = new Scene();
    await scene.request();
    scene.caller.isAlive = false;
    const lost = scene.request();
    await scene.advance(2999);
    expect(scene.duplicates.length).toBe(0);
    await scene.advance(1000);
    expect(await lost).toMatch(/did not answer within 3000 ms and was replaced; .*may have been/);
    expect(scene.duplicates[0]!.sent).toEqual(['return 1 key']);
    expect(await scene.request()).toBe('duplicate 1');
    expect(await scene.path.command(['PING'])).toBe('duplicate 1');
    expect(scene.caller.closes).toBe(0);
  });

  it('opens the duplicate in the database that the connection had', async () => {
    const scene = new Scene();
    await scene.request();
    scene.caller.isAlive = false;
    void scene.request();
    await scene.advance(4000);
    expect(scene.databases).toEqual([5]);
  });

  it('does not move when the database is unknown: another one has other locks', async () => {
    const scene = new Scene({ database: () => Promise.reject(new Error('unknown command')) });
    await scene.request();
    scene.caller.isAlive = false;
    const late = scene.request();
    await scene.advance(10_000);
    scene.caller.revive();
    expect(await late).toBe('caller');
    expect(scene.duplicates.length).toBe(0);
  });

  it('sends CLIENT INFO again with a later request, three times at most', async () => {
    let attempts = 0;
    const database = (): Promise<number> => Promise.reject(new Error(`attempt ${++attempts}`));
    const scene = new Scene({ database });
    for (let count = 0; count < 5; count++) await scene.request();
    expect(attempts).toBe(3);
  });

  it('does not move to a duplicate that is in another database', async () => {
    const scene = new Scene({ duplicatesDatabase: 0 });
    await scene.request();
    scene.caller.isAlive = false;
    const late = scene.request();
    await scene.advance(3000);
    expect(scene.duplicates[0]!.closes).toBe(1);
    scene.caller.revive();
    expect(await late).toBe('caller');
  });

  it('stays with a client whose duplicate() throws', async () => {
    const scene = new Scene({ duplicateThrows: true });
    await scene.request();
    scene.caller.isAlive = false;
    const late = scene.request();
    await scene.advance(10_000);
    scene.caller.revive();
    expect(await late).toBe('caller');
  });

  it('stays with the client of the caller while the server replies on no connection', async () => {
    const scene = new Scene({ duplicatesAnswer: false });
    await scene.request();
    scene.caller.isAlive = false;
    const late = scene.request();
    for (let count = 0; count < 20; count++) await scene.advance(500);
    scene.caller.revive();
    expect(await late).toBe('caller');
    expect(await scene.request()).toBe('caller');
    await scene.advance(10_000);
    expect(scene.duplicates.map(({ closes }) => closes > 0)).toEqual(
      scene.duplicates.map(() => true),
    );
    expect(scene.duplicates.length).toBeGreaterThan(1);
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('stays when the reply comes while the duplicate is opened', async () => {
    const scene = new Scene({ duplicatesAnswer: false });
    await scene.request();
    scene.caller.isAlive = false;
    const late = scene.request();
    await scene.advance(3000);
    scene.caller.revive();
    scene.duplicates[0]!.revive();
    expect(await late).toBe('caller');
    await settled();
    expect(await scene.request()).toBe('caller');
    expect(scene.duplicates[0]!.closes).toBe(1);
  });

  it('leaves a client that reconnects alone, and the request waits for it', async () => {
    const scene = new Scene();
    await scene.request();
    scene.caller.isAlive = false;
    scene.caller.isReady = false;
    const late = scene.request();
    await scene.advance(10_000);
    expect(scene.duplicates.length).toBe(0);
    scene.caller.isReady = true;
    scene.caller.revive();
    expect(await late).toBe('caller');
  });

  it('stays when the client notices the loss while the duplicate is opened', async () => {
    const scene = new Scene({ duplicatesAnswer: false });
    await scene.request();
    scene.caller.isAlive = false;
    const late = scene.request();
    await scene.advance(3000);
    scene.caller.isReady = false;
    scene.duplicates[0]!.revive();
    await settled();
    expect(scene.duplicates[0]!.closes).toBe(1);
    scene.caller.revive();
    expect(await late).toBe('caller');
  });

  it('replaces a duplicate that gets no more replies, and closes it', async () => {
    const scene = new Scene();
    await scene.request();
    scene.caller.isAlive = false;
    void scene.request();
    await scene.advance(4000);
    const [first] = scene.duplicates;
    first!.isAlive = false;
    const lost = scene.request();
    for (let count = 0; count < 10; count++) await scene.advance(500);
    expect(await lost).toMatch(/was replaced/);
    expect([await scene.request(), first!.closes]).toEqual(['duplicate 2', 1]);
  });

  it('closes its duplicate and its timer, may be closed twice, and opens none afterwards', async () => {
    const scene = new Scene();
    await scene.request();
    scene.caller.isAlive = false;
    void scene.request();
    await scene.advance(4000);
    scene.path.close();
    scene.path.close();
    expect(scene.duplicates[0]!.closes).toBeGreaterThan(0);
    scene.duplicates[0]!.isAlive = false;
    void scene.request();
    await scene.advance(60_000);
    expect([scene.duplicates.length, scene.clock.pendingTimers]).toEqual([1, 0]);
  });

  it('cancels its timer when it is closed while a request has no reply', async () => {
    const scene = new Scene();
    scene.caller.isAlive = false;
    void scene.request();
    scene.path.close();
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('closes a duplicate that is being opened', async () => {
    const scene = new Scene({ duplicatesAnswer: false });
    await scene.request();
    scene.caller.isAlive = false;
    void scene.request();
    await scene.advance(3000);
    scene.path.close();
    expect(scene.duplicates[0]!.closes).toBe(1);
    scene.duplicates[0]!.revive();
    await settled();
    expect(scene.clock.pendingTimers).toBe(0);
  });
});

describe('databaseOf', () => {
  it.each([
    ['id=3 addr=127.0.0.1:1 laddr=127.0.0.1:2 db=7 sub=0', 7],
    [Buffer.from('id=3 db=0 sub=0'), 0],
  ])('reads %s', (reply, database) => expect(databaseOf(reply)).toBe(database));

  it('throws when the reply names none', () => {
    expect(() => databaseOf('OK')).toThrow('CLIENT INFO names no database');
  });
});
