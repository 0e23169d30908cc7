import type { ScriptRunner } from '../../client/index.ts';
import { createLocks } from '../../create-locks.ts';
import { engineRunner, RedisStore } from '../../stores/index.ts';
import type { Text } from '../recipe.ts';
import {
  type Answered,
  LOCK_KEY,
  type StampedeWorld,
  type Visit,
  Visitor,
} from './stampede-world.ts';

/** One way to refresh the entry. */
export interface Scene {
  readonly name: string;
  readonly about: Text;
  /** The first client that loads the value crashes in the middle of the load. */
  readonly loaderDies: boolean;
  /** Stores an entry and lets it expire. */
  readonly prepare: (world: StampedeWorld) => Promise<void>;
  readonly visit: Visit;
}

const FRESH_SECONDS = 60;
/** Polling interval of a client that waits for the entry. */
const POLL_MS = 100;
/** The textbook lock's lease, and that of `locks.cache`: twice as long as a load. */
const LEASE_SECONDS = 2;

/** The entry while it is fresh, and a copy for clients that may use the old value. */
const ENTRY = 'page';
const OLD_ENTRY = 'page:old';

type Take = readonly string[];
const SETNX: Take = ['SETNX', LOCK_KEY, '1'];
const SET_NX_EX: Take = ['SET', LOCK_KEY, '1', 'NX', 'EX', String(LEASE_SECONDS)];

export const SCENES: readonly Scene[] = [
  {
    name: 'no-lock',
    about: { en: 'without a lock', zh: '不加锁' },
    ...textbook({ take: undefined, losers: 'wait' }),
    loaderDies: false,
  },
  {
    name: 'setnx-wait',
    about: { en: 'SETNX, others wait', zh: 'SETNX，其余等待' },
    ...textbook({ take: SETNX, losers: 'wait' }),
    loaderDies: false,
  },
  {
    name: 'setnx-old',
    about: { en: 'SETNX, others use the old value', zh: 'SETNX，其余使用旧值' },
    ...textbook({ take: SETNX, losers: 'use-old' }),
    loaderDies: false,
  },
  {
    name: 'setnx-wait-crash',
    about: { en: 'SETNX, others wait; holder dies', zh: 'SETNX，其余等待；持有者崩溃' },
    ...textbook({ take: SETNX, losers: 'wait' }),
    loaderDies: true,
  },
  {
    name: 'setnx-old-crash',
    about: {
      en: 'SETNX, others use old; holder dies',
      zh: 'SETNX，其余使用旧值；持有者崩溃',
    },
    ...textbook({ take: SETNX, losers: 'use-old' }),
    loaderDies: true,
  },
  {
    name: 'set-nx-ex-crash',
    about: {
      en: `SET NX EX ${LEASE_SECONDS}, others wait; holder dies`,
      zh: `SET NX EX ${LEASE_SECONDS}，其余等待；持有者崩溃`,
    },
    ...textbook({ take: SET_NX_EX, losers: 'wait' }),
    loaderDies: true,
  },
  {
    name: 'cache',
    about: { en: 'locks.cache', zh: 'locks.cache' },
    ...library({ stale: '0s' }),
    loaderDies: false,
  },
  {
    name: 'cache-stale',
    about: { en: 'locks.cache, stale: 1h', zh: 'locks.cache，stale: 1h' },
    ...library({ stale: '1h' }),
    loaderDies: false,
  },
  {
    name: 'cache-crash',
    about: { en: 'locks.cache; loader dies', zh: 'locks.cache；加载者崩溃' },
    ...library({ stale: '0s' }),
    loaderDies: true,
  },
  {
    name: 'cache-stale-crash',
    about: {
      en: 'locks.cache, stale: 1h; loader dies',
      zh: 'locks.cache，stale: 1h；加载者崩溃',
    },
    ...library({ stale: '1h' }),
    loaderDies: true,
  },
];

type Way = Pick<Scene, 'prepare' | 'visit'>;

interface Textbook {
  /** The command that acquires the lock; undefined for no lock. */
  readonly take: Take | undefined;
  readonly losers: 'wait' | 'use-old';
}

function textbook({ take, losers }: Textbook): Way {
  return {
    async prepare(world) {
      const preparing = new Visitor(0, world).send('SET', OLD_ENTRY, 'old');
      await world.runUntil(1);
      await preparing;
    },
    async visit(visitor) {
      for (;;) {
        const found = await visitor.send('GET', ENTRY);
        if (found !== null) return found as Answered;
        if (take === undefined) return await refresh(visitor);
        const taken = await visitor.send(...take);
        if (isTaken(taken)) {
          const value = await refresh(visitor);
          await visitor.send('DEL', LOCK_KEY);
          return value;
        }
        if (losers === 'use-old') return (await visitor.send('GET', OLD_ENTRY)) as Answered;
        await visitor.pause(POLL_MS);
      }
    },
  };
}

/** SETNX replies 1 or 0, SET NX replies OK or nil. */
function isTaken(reply: unknown): boolean {
  return reply !== 0 && reply !== null;
}

async function refresh(visitor: Visitor): Promise<Answered> {
  const value = await visitor.world.load(visitor);
  await visitor.send('SET', ENTRY, value, 'EX', String(FRESH_SECONDS));
  await visitor.send('SET', OLD_ENTRY, value);
  return value;
}

function library({ stale }: { readonly stale: '0s' | '1h' }): Way {
  const options = { fresh: `${FRESH_SECONDS}s`, stale, lease: `${LEASE_SECONDS}s` } as const;
  const ask = (visitor: Visitor, load: () => Promise<Answered>): Promise<Answered> =>
    locksOf(visitor).cache(ENTRY, options, load);
  return {
    async prepare(world) {
      const preparing = ask(new Visitor(0, world), async () => 'old');
      await world.runUntil(FRESH_SECONDS * 1000 + 100);
      await preparing;
    },
    visit: (visitor) => ask(visitor, () => visitor.world.load(visitor)),
  };
}

/** The library of one simulated process. Its store is reached over a network with latency. */
function locksOf(visitor: Visitor): ReturnType<typeof createLocks> {
  const { clock, random, client } = visitor;
  const store = new RedisStore(remoteRunner(visitor), {
    clock,
    clientId: `client${client}`,
    requestTimeoutMs: 5000,
  });
  return createLocks({ store, clock, random });
}

function remoteRunner(visitor: Visitor): ScriptRunner {
  const runner = engineRunner(visitor.world.engine);
  return {
    async run(...call) {
      await visitor.travel();
      const reply = await runner.run(...call);
      await visitor.travel();
      return reply;
    },
    async listen(channel, onMessage, onGap) {
      await visitor.travel();
      await runner.listen(
        channel,
        (text) => void visitor.travel().then(() => onMessage(text)),
        onGap,
      );
      await visitor.travel();
    },
    close: () => runner.close(),
  };
}
