import type { Recipe } from '../recipe.ts';

const SETNX_AND_EXPIRE = `-- setnx and expire
local ok = redis.call('setnx', KEYS[1], ARGV[1])
if ok == 1 then
  redis.call('expire', KEYS[1], ARGV[2])
end
return ok`;

const WITH_KEYS_ONLY = `-- setnx and expire, with keys only
local ok = redis.call('setnx', KEYS[1], KEYS[2])
if ok == 1 then
  redis.call('expire', KEYS[1], KEYS[3])
end
return ok`;

export const luaSetnxExpire: Recipe = {
  name: 'lua-setnx-expire',
  about: {
    en: 'SETNX and EXPIRE in one script, released by a plain DEL: a slow holder deletes the lock of the next holder.',
    zh: '用一段 Lua 完成 SETNX 和 EXPIRE，直接 DEL 解锁：超时的持有者会删掉下一个持有者的锁。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A script runs EXPIRE only if its SETNX set the key.',
      zh: '用脚本保证只有 SETNX 成功时才执行 EXPIRE。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'pause',
      about: { en: 'A holder is slower than its lease.', zh: '持有者比租约更慢。' },
      world: {},
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
      ],
      shows: 'foreign-release',
    },
    {
      name: 'keys-only',
      about: {
        en: 'Value and TTL are passed as keys, as in the article. A cluster refuses this (CROSSSLOT): they are arguments.',
        zh: '像文章那样把值和 TTL 当作键传入。集群会拒绝（CROSSSLOT）：它们应当作为参数传入。',
      },
      world: {},
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
      ],
      shows: 'foreign-release',
    },
    {
      name: 'no-pause',
      about: { en: 'All clients finish within their lease.', zh: '所有客户端都在租约内完成。' },
      world: { pauses: 0 },
      fails: [],
    },
  ],
  *client({ command, variant, enter, work, leave }) {
    const ok =
      variant === 'keys-only'
        ? yield* command`EVAL ${WITH_KEYS_ONLY} 3 lock 1 2`
        : yield* command`EVAL ${SETNX_AND_EXPIRE} 1 lock 1 2`;
    if (ok !== 1) return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    yield* command`DEL lock`;
    return 'done';
  },
};
