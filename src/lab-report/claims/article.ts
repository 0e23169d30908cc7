import { dialogue, figure, type Row, replayed, searched, tested, text } from './claim.ts';

const SETNX_AND_EXPIRE =
  "EVAL \"return redis.call('setnx',KEYS[1],ARGV[1])==1 and redis.call('expire',KEYS[1],ARGV[2]) or 0\" 1";

export const ARTICLE: readonly Row[] = [
  {
    number: 79,
    place: text('introduction', '开头'),
    claim: text(
      'SETNX can make a lock, but it has traps that many do not see.',
      'SETNX 可以做锁，但有很多人没注意到的陷阱。',
    ),
    verdict: 'right',
    reason: text(
      'Most recipes of the documents fail with a single crash or a single pause; one fails without any fault.',
      '文档里的大多数写法，一次崩溃或一次停顿就会出错；有一种甚至没有任何故障也会出错。',
    ),
    rightForm: null,
    evidence: [
      replayed('setnx-only', 'crash', 'axa', 'held-for-ever'),
      replayed('multi-setnx-expire', 'no-fault', 'a.b', 'prolonged-by-loser'),
    ],
  },
  {
    number: 80,
    place: text('introduction', '开头'),
    claim: text(
      'Without a lock, many requests go to the database at once in the moment in which a cached value expires.',
      '没有锁时，缓存一过期，请求会一起涌向数据库。',
    ),
    verdict: 'right',
    reason: text(
      'Every request that comes before the first one has stored its result loads again. This is called a cache stampede.',
      '第一个请求写回结果之前到达的每个请求都会再查一次。这叫缓存击穿（cache stampede）。',
    ),
    rightForm: text(
      "`locks.cache('price:7', { fresh: '10s', stale: '60s' }, load)` loads once for all processes (`docs/cache.md`).",
      "`locks.cache('price:7', { fresh: '10s', stale: '60s' }, load)`：所有进程只加载一次（`docs/cache.md`）。",
    ),
    evidence: [
      figure(
        '200 requests within the time of one load: 200 loads without a lock, 1 load with a lock.',
        '一次加载期间到达 200 个请求：没有锁要加载 200 次，有锁只加载 1 次。',
      ),
      tested(
        'test/stampede.test.ts',
        'loads once for each client without a lock, and the last one waits for all of them',
      ),
    ],
  },
  {
    number: 81,
    place: text('introduction', '开头'),
    claim: text(
      'With a lock one request refreshes the cache.',
      '有了锁，更新缓存的请求就只有一个。',
    ),
    verdict: 'right',
    reason: text(
      'The others must look into the cache again after they get the lock, or they load too, one after the other.',
      '其他请求拿到锁之后要先再查一次缓存，否则还会一个接一个地加载。',
    ),
    rightForm: text('`locks.cache(key, options, load)`', '`locks.cache(key, options, load)`'),
    evidence: [
      tested('test/cache-single-flight.test.ts', 'loads once for all callers of all processes'),
      tested(
        'test/cache-processes.test.ts',
        'load once for a thousand callers, and once for each expiry after that',
      ),
    ],
  },
  {
    number: 82,
    place: text('introduction', '开头'),
    claim: text(
      'The other requests wait, or use the old value.',
      '其余请求可以等，也可以先用旧缓存。',
    ),
    verdict: 'right',
    reason: text(
      'An old value costs no time but must be kept beyond its end; waiting gives the new value, and needs a limit.',
      '用旧值不花时间，但过期后还得留着；等待能拿到新值，但要有时限。',
    ),
    rightForm: text(
      'The option stale keeps the old value, softTimeout says how long to wait before it is used.',
      '选项 stale 决定旧值保留多久，softTimeout 决定等多久后改用旧值。',
    ),
    evidence: [
      tested(
        'test/cache-single-flight.test.ts',
        'gives it at once while one caller loads in the background',
      ),
      tested('test/cache-single-flight.test.ts', 'waits for so long, and then gives the stale one'),
    ],
  },
  {
    number: 83,
    place: text('first sample', '第一段代码'),
    claim: text('SETNX, refresh the cache, DEL.', 'SETNX 成功后更新缓存，然后 DEL。'),
    verdict: 'conditional',
    reason: text(
      'While no request dies between SETNX and DEL.',
      '前提是没有请求在 SETNX 与 DEL 之间退出。',
    ),
    rightForm: text(
      'SET NX PX with a token, and compare and delete.',
      '带唯一值的 SET NX PX，比较并删除。',
    ),
    evidence: [
      searched('setnx-only', 'no-crash'),
      replayed('setnx-only', 'crash', 'axa', 'held-for-ever'),
    ],
  },
  {
    number: 84,
    place: text('first sample', '第一段代码'),
    claim: text(
      'A request that ends by accident leaves the lock, and the cache is never refreshed again.',
      '请求中途退出，锁留了下来，此后没有请求能刷新缓存。',
    ),
    verdict: 'right',
    reason: text('As claim 15.', '同第 15 条。'),
    rightForm: text('Give the lock an end in the same command.', '在同一条命令里给锁加过期时间。'),
    evidence: [replayed('setnx-only', 'crash', 'axa', 'held-for-ever')],
  },
  {
    number: 85,
    place: text('second sample', '第二段代码'),
    claim: text(
      'SETNX and EXPIRE inside MULTI and EXEC: no crash can separate them.',
      '把 SETNX 和 EXPIRE 放进同一个事务，崩溃就不会落在两者之间。',
    ),
    verdict: 'conditional',
    reason: text(
      'They are executed together, or not at all. But a transaction has no “if”: EXPIRE runs also when SETNX returned 0.',
      '两条命令确实一起执行，或都不执行。但事务里没有“如果”：SETNX 返回 0 时 EXPIRE 也会执行。',
    ),
    rightForm: text('`SET … NX EX`', '`SET … NX EX`'),
    evidence: [
      dialogue(
        ['MULTI', 'OK'],
        ['SETNX door anna', 'QUEUED'],
        ['EXPIRE door 10', 'QUEUED'],
        ['EXEC', '1) (integer) 1\n2) (integer) 1'],
      ),
      replayed('multi-setnx-expire', 'no-fault', 'a.b', 'prolonged-by-loser'),
    ],
  },
  {
    number: 86,
    place: text('second sample', '第二段代码'),
    claim: text(
      'SETNX succeeds for one request only, EXPIRE for every request.',
      'SETNX 只让一个请求成功，EXPIRE 却谁来都成功。',
    ),
    verdict: 'right',
    reason: text('EXPIRE asks only whether the key exists.', 'EXPIRE 只看 key 是否存在。'),
    rightForm: text(
      'EXPIRE only if SETNX returned 1: a script, or `SET … NX EX`.',
      'SETNX 返回 1 才 EXPIRE：用脚本，或 `SET … NX EX`。',
    ),
    evidence: [
      dialogue(
        ['SET door anna EX 10', 'OK'],
        ['MULTI', 'OK'],
        ['SETNX door ben', 'QUEUED'],
        ['EXPIRE door 100', 'QUEUED'],
        ['EXEC', '1) (integer) 0\n2) (integer) 1'],
        ['TTL door', '(integer) 100'],
      ),
      replayed('multi-setnx-expire', 'no-fault', 'a.b', 'prolonged-by-loser'),
    ],
  },
  {
    number: 87,
    place: text('second sample', '第二段代码'),
    claim: text(
      'If requests come often, the lock is refreshed again and again and never ends.',
      '请求密集时，过期时间不断刷新，锁一直有效。',
    ),
    verdict: 'right',
    reason: text(
      'If one request comes in each TTL, and the holder has crashed. A holder that lives deletes the lock as usual.',
      '前提是每个 TTL 之内都有请求到来，而持有者已经崩溃。持有者还在时，照常会删除锁。',
    ),
    rightForm: text('`SET … NX EX`', '`SET … NX EX`'),
    evidence: [
      replayed('multi-setnx-expire', 'crash', 'axabc.bc.bc.bc.', 'waiter-not-served'),
      figure(
        'TTL of 10 s, a request every 9 s: an hour later the lock of the crashed holder still exists. With SET NX EX it ended after 10 s.',
        'TTL 10 秒，每 9 秒来一个请求：一小时后，崩溃者的锁仍然存在。用 SET NX EX，10 秒后就到期了。',
      ),
    ],
  },
  {
    number: 88,
    place: text('third sample', '第三段代码'),
    claim: text(
      'A script runs EXPIRE only if its SETNX set the key.',
      '用 Lua 脚本，SETNX 成功才执行 EXPIRE。',
    ),
    verdict: 'right',
    reason: text(
      'Nothing can come between the two, and a loser changes nothing.',
      '两步之间插不进别的命令，没抢到锁的请求什么也不改。',
    ),
    rightForm: text(
      'SET … NX EX does the same without a script.',
      'SET … NX EX 不用脚本就能做到。',
    ),
    evidence: [
      dialogue(
        [`${SETNX_AND_EXPIRE} door anna 10`, '(integer) 1'],
        [`${SETNX_AND_EXPIRE} door ben 100`, '(integer) 0'],
        ['TTL door', '(integer) 10'],
      ),
      searched('lua-setnx-expire', 'no-pause'),
    ],
  },
  {
    number: 89,
    place: text('third sample', '第三段代码'),
    claim: text(
      'The script gets value and timeout as KEYS[2] and KEYS[3].',
      '脚本把值和超时时间作为 KEYS[2]、KEYS[3] 传入。',
    ),
    verdict: 'wrong',
    reason: text(
      'A single server does not mind. A cluster takes all KEYS for names of keys and refuses the call, since they belong to different slots; ACL rules on keys refuse it too.',
      '单机不受影响。集群会把 KEYS 都当作 key 名，它们属于不同的槽，调用被拒绝；按 key 授权的 ACL 也会拒绝。',
    ),
    rightForm: text(
      'KEYS for names of keys only, ARGV for everything else.',
      'KEYS 只放 key 名，其他一律放 ARGV。',
    ),
    evidence: [
      figure(
        'A cluster of redis-server 7.0.15 answers with CROSSSLOT; with ARGV the same script returns 1.',
        'redis-server 7.0.15 的集群返回 CROSSSLOT 错误；改用 ARGV，同一脚本返回 1。',
      ),
      replayed('lua-setnx-expire', 'keys-only', 'a.aa', null),
    ],
  },
  {
    number: 90,
    place: text('before the fourth sample', '第四段代码之前'),
    claim: text(
      'From 2.6.12 on SET covers SETEX, and with its timeout the whole lock.',
      '2.6.12 之后，SET 已包含 SETEX 的能力，加上过期时间，一条命令就能加锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'The conclusion is right. SETEX is a slip: what is needed here is SETNX, and SET covers both.',
      '结论正确。SETEX 应为笔误：这里需要的是 SETNX；SET 两者都涵盖。',
    ),
    rightForm: text('`SET key value NX EX 60`', '`SET key value NX EX 60`'),
    evidence: [
      dialogue(
        ['SETEX door 60 anna', 'OK'],
        ['SETEX door 60 ben', 'OK'],
        ['SET door carl NX EX 60', '(nil)'],
        ['GET door', '"ben"'],
      ),
    ],
  },
  {
    number: 91,
    place: text('fourth sample', '第四段代码'),
    claim: text(
      'SET with nx and ex takes the lock; DEL at the end.',
      '用带 nx 和 ex 的 SET 加锁，最后 DEL。',
    ),
    verdict: 'conditional',
    reason: text(
      'The SET is right. DEL is right while the work takes less than the lease.',
      'SET 这一步正确；DEL 只有在工作时间短于租约时才正确。',
    ),
    rightForm: text(
      'The same SET with a token, and compare and delete.',
      '同样的 SET 加唯一值，比较并删除。',
    ),
    evidence: [
      searched('set-nx-ex-del', 'no-pause'),
      replayed('set-nx-ex-del', 'pause', 'a.aza.bwaa', 'foreign-release'),
    ],
  },
  {
    number: 92,
    place: text('fourth sample', '第四段代码'),
    claim: text(
      'The timeout must fit: longer than the request takes.',
      '超时要设得合适，比请求本身耗时更长。',
    ),
    verdict: 'conditional',
    reason: text(
      'This time is not known in advance, and a long timeout keeps the others waiting after a crash. Renewal separates the two: a short lease, extended while the work goes on.',
      '执行时间无法预知；超时设得太长，崩溃后别人又要久等。续期可以两全：租约短，工作期间不断延长。',
    ),
    rightForm: text(
      "`{ lease: '30s' }` with renewal, which is the default; maxHold limits the whole.",
      "`{ lease: '30s' }`，默认自动续期；总时长用 maxHold 限制。",
    ),
    evidence: [
      replayed('watchdog', 'no-renewal', 'a..b', 'two-awake-inside'),
      searched('watchdog', 'no-pause'),
    ],
  },
  {
    number: 93,
    place: text('after the fourth sample', '第四段代码之后'),
    claim: text(
      'A refresh that takes longer than the lease ends with the deletion of another’s lock.',
      '更新时间超过有效期，最后会误删其他请求的锁。',
    ),
    verdict: 'right',
    reason: text('As claim 17.', '同第 17 条。'),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [replayed('set-nx-ex-del', 'pause', 'a.aza.bwaa', 'foreign-release')],
  },
  {
    number: 94,
    place: text('last sample', '最后一段代码'),
    claim: text(
      'A random value from mt_rand and uniqid(true) marks the owner.',
      '用 mt_rand 和 uniqid(true) 拼成随机值，标记锁的主人。',
    ),
    verdict: 'conditional',
    reason: text(
      'A value of one’s own is right. This one is weaker than it looks: the first argument of uniqid is a prefix, so true adds the digit 1 and no entropy; what is left is the time in microseconds and a number that can be guessed. Equal values are unlikely, not impossible.',
      '每次用独有的值是对的。但这个值比看上去弱：uniqid 的第一个参数是前缀，传 true 只是在前面加了个 1，并没有增加熵；剩下的是微秒时间和可预测的随机数。重复的可能很小，但不为零。',
    ),
    rightForm: text(
      '`bin2hex(random_bytes(16))`, or a UUID.',
      '`bin2hex(random_bytes(16))`，或 UUID。',
    ),
    evidence: [
      searched('set-nx-px-get-del', 'pause', [], { pauses: 0 }),
      dialogue(
        ['SET door 5c1b0e9d NX EX 60', 'OK'],
        ['SET door a7724f30 NX EX 60', '(nil)'],
        ['GET door', '"5c1b0e9d"'],
      ),
    ],
  },
  {
    number: 95,
    place: text('postscript', '补充'),
    claim: text(
      'A garbage collection before DEL can last beyond the lease: DEL then removes the lock of another.',
      'DEL 之前发生 GC 停顿，锁到期被别人拿走，DEL 就删掉了别人的锁。',
    ),
    verdict: 'right',
    reason: text(
      'Any pause does this: garbage collection, a stopped process, a suspended machine, a slow network. With compare and delete no pause removes another’s lock.',
      '任何停顿都一样：GC、进程被挂起、机器休眠、网络变慢。改成一步比较并删除，停顿就删不掉别人的锁。',
    ),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [
      replayed('set-nx-px-get-del', 'pause', 'a.aaza.bwaa', 'foreign-release'),
      searched('set-nx-px-lua-del', 'pause', ['two-inside', 'late-write']),
    ],
  },
  {
    number: 96,
    place: text('postscript', '补充'),
    claim: text('The problem is harder than it seems.', '看似简单，其实很难做对。'),
    verdict: 'right',
    reason: text(
      'A pause in the work itself remains: two clients are inside, and the late one writes last. No lock can prevent this; the resource can, by refusing a smaller fence.',
      '工作过程中的停顿仍然无解：两个客户端同时在执行，迟到的那个最后写入。锁防不住，只有资源自己拒绝更小的防护令牌才行。',
    ),
    rightForm: text(
      'Give `lease.fence` to what you write to (`docs/locks.md`).',
      '把 `lease.fence` 交给被写入的资源（`docs/locks.md`）。',
    ),
    evidence: [
      replayed('set-nx-px-lua-del', 'pause', 'a.za.b.bwaa', 'late-write'),
      searched('fenced', 'pause', ['two-inside']),
      tested('test/lock-faults-process.test.ts', 'lose updates without the fence (control)'),
      tested('test/lock-faults-process.test.ts', 'lose no update with the fence'),
    ],
  },
  {
    number: 97,
    place: text('before the first sample', '第一段代码之前'),
    claim: text(
      'The samples use the common Redis extension of PHP.',
      '示例用的是 PHP 社区常用的 Redis 扩展。',
    ),
    verdict: 'right',
    reason: text(
      'Its calls setNX, expire, multi, exec, set, get and del send the commands of the same names, so the verdicts on these commands are the verdicts on the samples. How popular it is cannot be tested here.',
      'setNX、expire、multi、exec、set、get、del 发送的就是同名命令，所以对命令的结论也就是对示例的结论。流行程度无法在这里验证。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        ['SETNX door anna', '(integer) 1'],
        ['DEL door', '(integer) 1'],
        ['SET door anna nx ex 60', 'OK'],
        ['GET door', '"anna"'],
      ),
      tested('test/recipe-programs.test.ts', '%s alone sends what the recipe sends in the lab'),
    ],
  },
];
