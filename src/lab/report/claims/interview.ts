import { dialogue, figure, measured, type Row, replayed, searched, tested, text } from './claim.ts';

export const INTERVIEW: readonly Row[] = [
  {
    number: 29,
    place: text('heading: simple lock', '标题：简易锁'),
    claim: text('A simple lock can be made of SETNX.', '用 SETNX 可以做一个简易锁。'),
    verdict: 'conditional',
    reason: text(
      'While no client crashes. A crash leaves the lock for ever (claim 15).',
      '前提是没有客户端崩溃；一旦崩溃，锁就永远留下（第 15 条）。',
    ),
    rightForm: text("`locks.mutex('foo').run(work)`", "`locks.mutex('foo').run(work)`"),
    evidence: [
      searched('setnx-only', 'no-crash'),
      replayed('setnx-only', 'crash', 'axa', 'held-for-ever'),
    ],
  },
  {
    number: 30,
    place: text('heading: fine-grained lock', '标题：细粒度锁'),
    claim: text(
      'A lock for each item is better than one lock for all.',
      '每个对象一把锁，好过所有对象共用一把锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'If the work on one item does not touch another. Requests for different items then do not wait for each other; the price is one key for each item that is in use. Work on several items at once needs all their locks, in one order, or two such requests block each other.',
      '前提是处理一个对象时不会碰到另一个。这样不同对象的请求互不等待，代价是每个正在使用的对象占一个 key。要同时处理多个对象时，必须按同一顺序拿齐所有的锁，否则会互相死锁。',
    ),
    rightForm: text(
      "`locks.mutex('order:' + id)`, and `locks.all([a, b])` for several items.",
      "`locks.mutex('order:' + id)`；多个对象用 `locks.all([a, b])`。",
    ),
    evidence: [
      figure(
        '100 requests for 10 items, 20 ms each, all at once: 2000 ms with one lock, 200 ms with a lock for each item.',
        '100 个请求同时到达，涉及 10 个对象，每个处理 20 毫秒：共用一把锁要 2000 毫秒，每个对象一把锁只要 200 毫秒。',
      ),
    ],
  },
  {
    number: 31,
    place: text('heading: lock with a timeout', '标题：带超时限制的锁'),
    claim: text('A lock should have a timeout.', '锁应当带超时。'),
    verdict: 'conditional',
    reason: text(
      'There are two timeouts: how long a client waits, and how long the lock lives if its holder crashes. If the second one is set in a second command, a crash in between leaves a lock without it, unless the next client finds that out and sets it.',
      '超时有两种：客户端最多等多久，以及持有者退出后锁还能活多久。后者如果用第二条命令设置，两条命令之间崩溃，锁就没有超时，除非下一个客户端发现并补上。',
    ),
    rightForm: text(
      "`locks.mutex('foo').run(work, { wait: '5s', lease: '30s' })`",
      "`locks.mutex('foo').run(work, { wait: '5s', lease: '30s' })`",
    ),
    evidence: [
      replayed('setnx-then-expire', 'crash', 'axa', 'held-for-ever'),
      searched('setnx-repaired-expire', 'crash'),
      replayed('setnx-repaired-expire', 'pause', 'aa.aza.bbwaa', 'foreign-release'),
      searched('set-nx-px-lua-del', 'no-pause'),
      tested('src/lock/lock.test.ts', 'rejects with LockTimeoutError that says how long it waited'),
    ],
  },
  {
    number: 32,
    place: text('the first answer', '第一个回答'),
    claim: text(
      'Take the lock with SETNX, then give it an end with EXPIRE.',
      '先 SETNX 抢锁，再用 EXPIRE 加过期时间。',
    ),
    verdict: 'conditional',
    reason: text(
      'If the client reaches EXPIRE. A crash, a restart or a lost connection before it leaves the lock for ever.',
      '前提是客户端能执行到 EXPIRE。在那之前崩溃、重启或断线，锁就永远留下。',
    ),
    rightForm: text('`SET key token NX EX 30`', '`SET key token NX EX 30`'),
    evidence: [
      dialogue(
        ['SETNX door anna', '(integer) 1'],
        ['EXPIRE door 30', '(integer) 1'],
        ['TTL door', '(integer) 30'],
      ),
      replayed('setnx-then-expire', 'crash', 'axa', 'held-for-ever'),
    ],
  },
  {
    number: 33,
    place: text('the follow-up question', '追问'),
    claim: text(
      'A crash or a restart between the two commands leaves a lock that nothing releases.',
      '两条命令之间崩溃或重启维护，锁就再也不会释放。',
    ),
    verdict: 'right',
    reason: text(
      'The program receives SIGTERM before a restart, and nothing before a crash: close the locks on SIGTERM, and rely on the lease for the rest.',
      '重启维护可以提前通知程序，崩溃不会：收到 SIGTERM 时主动释放，其余情况靠租约。',
    ),
    rightForm: text(
      '`SET key token NX EX 30`; await `locks.close()` on SIGTERM.',
      '`SET key token NX EX 30`；收到 SIGTERM 时 await `locks.close()`。',
    ),
    evidence: [
      replayed('setnx-then-expire', 'crash', 'axa', 'held-for-ever'),
      tested(
        'test/lock-faults-process.test.ts',
        'as holder loses the lock to a waiter no later than the end of its lease',
      ),
    ],
  },
  {
    number: 34,
    place: text('the second answer', '第二个回答'),
    claim: text(
      'SET can do the work of SETNX and EXPIRE in one command.',
      '一条 SET 就能完成 SETNX 和 EXPIRE 两步。',
    ),
    verdict: 'right',
    reason: text(
      'A crash leaves either no lock or a lock with an end.',
      '崩溃时，要么没有锁，要么锁带着过期时间。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        ['SET door anna EX 30 NX', 'OK'],
        ['TTL door', '(integer) 30'],
        ['SET door ben EX 30 NX', '(nil)'],
      ),
      searched('set-nx-ex-del', 'no-pause'),
    ],
  },
  {
    number: 35,
    place: text('SETNX and EXPIRE are not atomic', 'SETNX 与 EXPIRE 的非原子性'),
    claim: text(
      'From 2.6.12 on SET takes the timeout and NX: the sample lists key, 1, 30 and NX.',
      '2.6.12 起 SET 可带超时和 NX，示例依次写 key、1、30、NX。',
    ),
    verdict: 'conditional',
    reason: text(
      'The idea is right. As a command line it lacks the word EX before the number, and Redis refuses it.',
      '思路正确。但作为命令，数字前少了 EX，Redis 会报语法错误。',
    ),
    rightForm: text('`SET key 1 EX 30 NX`', '`SET key 1 EX 30 NX`'),
    evidence: [
      dialogue(['SET door 1 30 NX', '(error) ERR syntax error'], ['SET door 1 EX 30 NX', 'OK']),
    ],
  },
  {
    number: 36,
    place: text('heading: DEL of the wrong lock', '标题：DEL 误删'),
    claim: text('DEL may remove the lock of another client.', 'DEL 可能误删别人的锁。'),
    verdict: 'right',
    reason: text(
      'It happens to every recipe that ends in a plain DEL, as soon as a holder is slower than its lease.',
      '凡是以普通 DEL 结束的写法，只要持有者慢过租约就会发生。',
    ),
    rightForm: text(
      'A unique token, and compare and delete in one step (claim 25).',
      '唯一的值，比较和删除一步完成（第 25 条）。',
    ),
    evidence: [
      replayed('setnx-then-expire', 'pause', 'aa.aza.bbwaa', 'foreign-release'),
      replayed('set-nx-ex-del', 'pause', 'a.aza.bwaa', 'foreign-release'),
    ],
  },
  {
    number: 37,
    place: text('option 1, introduction', '方案一，引言'),
    claim: text(
      'The add of memcached makes the same kind of lock.',
      'memcached 的 add 也能做同样的锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'add sets value and expiry in one step, which SETNX does not. But its expiry is in whole seconds of a clock that ticks once a second, so a lease of 1 s can end almost at once; and delete has the weakness of DEL. gets and cas release safely, and renew safely, which touch does not.',
      'add 一步写入值和过期时间，这点胜过 SETNX。但过期时间以整秒计，时钟一秒跳一次，1 秒的租约可能几乎立刻到期；delete 与 DEL 有同样的问题，要用 gets 和 cas 才能安全释放；续期也要用 gets 和 cas，不能用 touch。',
    ),
    rightForm: text(
      'add with an expiry at least 2 s longer than needed; renew with gets and cas; release with gets and cas, or from memcached 1.6 on with `md` and the cas number that `mg` returned.',
      'add 的过期时间至少多给 2 秒；用 gets 和 cas 续期；用 gets 和 cas 释放，memcached 1.6 起可用 `md` 加上 `mg` 返回的 cas 编号释放。',
    ),
    evidence: [
      replayed('memcached-add', 'delete', 'a.aza.bwaa', 'foreign-release'),
      searched('memcached-add', 'cas', ['two-inside', 'late-write']),
      replayed('memcached-add', 'whole-seconds', 'b.a.bb.a.c', 'two-live-leases'),
      replayed('memcached-touch', 'touch', 'a.za.b.waa', 'prolonged-by-loser'),
      measured(
        'bench/memcached.js',
        'Of 40 locks of 1 s, memcached 1.6.18 kept the shortest for 12 ms, the longest for 987 ms; redis-server kept them for 1,001 to 1,007 ms.',
        '40 把 1 秒的锁，在 memcached 1.6.18 上最短只留 12 毫秒，最长 987 毫秒；在 redis-server 上留 1,001～1,007 毫秒。',
      ),
    ],
  },
  {
    number: 38,
    place: text('option 1, introduction', '方案一，引言'),
    claim: text(
      'Redis has more data types than memcached, which has strings only.',
      'Redis 的数据类型更多，memcached 只有字符串。',
    ),
    verdict: 'right',
    reason: text(
      'For a plain lock this does not matter. For a queue of waiters, a semaphore or a read/write lock it does.',
      '对简单的锁没有影响；要做等待队列、信号量、读写锁就有用了。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        ['RPUSH list a', '(integer) 1'],
        ['HSET hash field a', '(integer) 1'],
        ['SADD set a', '(integer) 1'],
        ['ZADD zset 1 a', '(integer) 1'],
        ['TYPE zset', 'zset'],
      ),
    ],
  },
  {
    number: 39,
    place: text('option 1, introduction', '方案一，引言'),
    claim: text(
      'In speed and convenience the two differ little: choose the one that is already there.',
      '性能和易用性差别不大，手头有哪个就用哪个。',
    ),
    verdict: 'conditional',
    reason: text(
      'In speed they do differ little: both answer a take and a release in one round trip each. In convenience they differ: memcached has no expiry below a second, cannot wake waiters, and evicts keys when its memory is full.',
      '性能上确实差别不大：加锁、解锁都是一次往返。易用性上有差别：memcached 的过期时间不能小于一秒，不能唤醒等待者，内存满了还会淘汰 key。',
    ),
    rightForm: text(
      'Choose by what a lost lock costs. Where it costs more than a repeated task, take a store that evicts nothing.',
      '按丢锁的代价来选。如果代价不只是重复执行一次，就用不会淘汰 key 的存储。',
    ),
    evidence: [
      measured(
        'bench/memcached.js',
        '50 connections that take and release, interleaved: SETNX and DEL on redis-server at 1.03 (0.92–1.18) times the rate of add and delete on memcached, SET NX EX and DEL at 1.05 (0.94–1.23) times.',
        '50 个连接反复加锁、解锁，交替测量：redis-server 的 SETNX 加 DEL 是 memcached 的 add 加 delete 的 1.03（0.92–1.18）倍，SET NX EX 加 DEL 是 1.05（0.94–1.23）倍。',
      ),
      searched('memcached-add', 'cas', ['two-inside', 'late-write']),
      replayed('memcached-eviction', 'full', 'aabb', 'two-live-leases'),
      searched('memcached-eviction', 'own-memory'),
    ],
  },
  {
    number: 40,
    place: text('option 1, the command', '方案一，命令'),
    claim: text(
      'SETNX is atomic: 1 if it set the key, 0 if the key exists.',
      'SETNX 是原子的：设置成功返回 1，key 已存在返回 0。',
    ),
    verdict: 'right',
    reason: text('As claims 1 and 10.', '同第 1、10 条。'),
    rightForm: null,
    evidence: [
      dialogue(['SETNX lockkey 1', '(integer) 1'], ['SETNX lockkey 1', '(integer) 0']),
      searched('setnx-only', 'no-crash'),
    ],
  },
  {
    number: 41,
    place: text('option 1, the command', '方案一，命令'),
    claim: text(
      'SETNX cannot set a timeout; that takes EXPIRE.',
      'SETNX 不能设置超时，只能另用 EXPIRE。',
    ),
    verdict: 'right',
    reason: text(
      'SETNX takes a key and a value and nothing else.',
      'SETNX 只接受 key 和 value 两个参数。',
    ),
    rightForm: text('`SET … NX EX`', '`SET … NX EX`'),
    evidence: [
      dialogue(
        ['SETNX lockkey 1', '(integer) 1'],
        ['TTL lockkey', '(integer) -1'],
        ['EXPIRE lockkey 30', '(integer) 1'],
      ),
    ],
  },
  {
    number: 42,
    place: text('option 1, steps 1 to 3', '方案一，步骤 1～3'),
    claim: text('SETNX, EXPIRE, work, DEL.', 'SETNX、EXPIRE、业务处理、DEL。'),
    verdict: 'conditional',
    reason: text(
      'Works if no client crashes before EXPIRE and none is slower than its lease.',
      '前提是没有客户端在 EXPIRE 之前崩溃，也没有谁慢过租约。',
    ),
    rightForm: text(
      'SET NX PX with a token, work, compare and delete.',
      '带唯一值的 SET NX PX、业务处理、比较并删除。',
    ),
    evidence: [
      searched('setnx-then-expire', 'no-fault'),
      replayed('setnx-then-expire', 'crash', 'axa', 'held-for-ever'),
      replayed('setnx-then-expire', 'pause', 'aa.aza.bbwaa', 'foreign-release'),
    ],
  },
  {
    number: 43,
    place: text('option 1, conclusion', '方案一，小结'),
    claim: text('This is good enough for everyday work.', '这个方案足以应付日常需求。'),
    verdict: 'conditional',
    reason: text(
      'True without faults: no interleaving fails when no client crashes or is paused. One crash at the wrong moment stops the task until an operator deletes the key.',
      '没有故障的日子里确实如此：不崩溃、不停顿时，任何交错都不出错。但只要有一次崩溃落在错误的时刻，任务就会停住，直到有人手动删 key。',
    ),
    rightForm: text(
      'SET NX PX costs one command less and has no such moment.',
      'SET NX PX 少一条命令，也没有这样的时刻。',
    ),
    evidence: [
      searched('setnx-then-expire', 'no-fault'),
      replayed('setnx-then-expire', 'crash', 'axa', 'held-for-ever'),
    ],
  },
  {
    number: 44,
    place: text('option 2, the commands', '方案二，命令'),
    claim: text(
      'GETSET stores a value and returns the old one, atomically.',
      'GETSET 原子地写入新值并返回旧值。',
    ),
    verdict: 'right',
    reason: text(
      'Like SET it also removes a TTL. Redis deprecates it since 6.2 in favour of `SET … GET`.',
      '和 SET 一样，它会清除 TTL。Redis 从 6.2 起建议改用 `SET … GET`。',
    ),
    rightForm: text('`SET key value GET`', '`SET key value GET`'),
    evidence: [
      dialogue(
        ['SET lockkey 100 EX 30', 'OK'],
        ['GETSET lockkey 200', '"100"'],
        ['TTL lockkey', '(integer) -1'],
        ['SET lockkey 300 GET', '"200"'],
      ),
    ],
  },
  {
    number: 45,
    place: text('option 2, the commands', '方案二，命令'),
    claim: text(
      'On a missing key GETSET returns nil; after that, each time the value before.',
      'key 不存在时 GETSET 返回 nil，之后每次返回前一个值。',
    ),
    verdict: 'right',
    reason: text(
      'It also creates the missing key, which option 2 overlooks (claim 107).',
      '它还会创建这个 key，方案二忽略了这一点（第 107 条）。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        ['GETSET note one', '(nil)'],
        ['GETSET note two', '"one"'],
        ['GETSET note three', '"two"'],
      ),
    ],
  },
  {
    number: 46,
    place: text('option 2, step 1', '方案二，步骤 1'),
    claim: text(
      'SETNX with the time at which the lock ends; 1 means acquired, 0 leads to step 2.',
      'SETNX 写入到期时间；返回 1 即得到锁，返回 0 转到步骤 2。',
    ),
    verdict: 'conditional',
    reason: text(
      'If no time passes between reading the clock and SETNX. A client that is paused there takes a lock that has already ended. A crash afterwards leaves a lock that the others can see to be old.',
      '前提是读时钟与 SETNX 之间没有停顿，否则拿到的是一把已经过期的锁。之后崩溃则不要紧，其他客户端能看出锁已过期。',
    ),
    rightForm: text('`SET … NX PX`: the server counts the time.', '`SET … NX PX`：由服务器计时。'),
    evidence: [
      replayed('timestamp-getset', 'take-over', 'aa', null),
      searched('timestamp-getset', 'take-over'),
      replayed('timestamp-getset', 'unchecked-del', 'aza...waabbbbb', 'two-awake-inside'),
    ],
  },
  {
    number: 47,
    place: text('option 2, step 2', '方案二，步骤 2'),
    claim: text(
      'If the stored time is smaller than the clock the lock has ended, and another may take it.',
      '值小于当前系统时间，就认为锁已超时，可以重新获取。',
    ),
    verdict: 'conditional',
    reason: text(
      'If all clients have the same clock. One whose clock is 3 s ahead takes a lock that has not ended.',
      '前提是各客户端的时钟一致。时钟快 3 秒的客户端会接管尚未到期的锁。',
    ),
    rightForm: text('Only the clock of the server counts: a TTL.', '只认服务器的时钟：用 TTL。'),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      replayed('timestamp-getset', 'skewed-clocks', '+abbaaaaa', 'two-awake-inside'),
      searched('set-nx-px-lua-del', 'skewed-clocks'),
    ],
  },
  {
    number: 48,
    place: text('option 2, step 3', '方案二，步骤 3'),
    claim: text(
      'Compute a new end, then store it with GETSET, which returns the current one.',
      '先算出新的到期时间，再用 GETSET 写入并取回当前值。',
    ),
    verdict: 'conditional',
    reason: text(
      'If no time passes between the two. A client that is paused there writes an end that it computed long ago: it moves the end of the winner back, and the lock looks free while the winner works.',
      '前提是两步之间没有停顿。如果停在这里，写入的是很久以前算好的时间：胜者的到期时间被提前，锁看起来已过期，胜者却还在工作。',
    ),
    rightForm: text(
      '`SET … NX PX`: the server computes the end when it grants the lock.',
      '`SET … NX PX`：服务器在授予锁的那一刻计算到期时间。',
    ),
    evidence: [
      figure(
        'Timeout of 10 s. A loser that is paused for 8 s between the computation and GETSET makes the lock of the winner end 8 s early: after 2 s in place of 10 s.',
        '超时 10 秒。落败者在计算与 GETSET 之间停顿 8 秒，胜者的锁提前 8 秒到期：不是 10 秒，而是 2 秒。',
      ),
    ],
  },
  {
    number: 49,
    place: text('option 2, step 4', '方案二，步骤 4'),
    claim: text(
      'The lock is acquired if GETSET returns the same value that GET returned.',
      'GETSET 返回的值与 GET 到的相同，就得到了锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'If no client was paused before its GETSET. Only the first GETSET can return the value: every later one returns a larger one (claim 54).',
      '前提是没有客户端在 GETSET 之前停顿。只有第一个 GETSET 能取回那个值，后面的取回的都更大（第 54 条）。',
    ),
    rightForm: text('`SET … NX PX`', '`SET … NX PX`'),
    evidence: [
      searched('timestamp-getset', 'take-over'),
      tested('src/engine/commands/strings.test.ts', 'let one client take an expired lock over'),
    ],
  },
  {
    number: 50,
    place: text('option 2, step 4', '方案二，步骤 4'),
    claim: text(
      'If not, another was faster: return a failure, or try again.',
      '不同则说明锁被别人抢先，返回失败或重试。',
    ),
    verdict: 'right',
    reason: text(
      'But the GETSET that lost has already been executed (claims 56 and 107).',
      '但落败的 GETSET 已经执行了（第 56、107 条）。',
    ),
    rightForm: null,
    evidence: [
      dialogue(
        ['SET lockkey 100', 'OK'],
        ['GETSET lockkey 200', '"100"'],
        ['GETSET lockkey 201', '"200"'],
        ['GET lockkey', '"201"'],
      ),
      replayed('timestamp-getset', 'take-over', 'aaxa...bbbbccccbc', null),
    ],
  },
  {
    number: 51,
    place: text('option 2, step 5', '方案二，步骤 5'),
    claim: text(
      'Compare the time that the work took with the timeout; DEL only if it took less.',
      '比较处理时间和超时时间，没有超时才 DEL。',
    ),
    verdict: 'conditional',
    reason: text(
      'If nothing happens between the comparison and DEL. A client that is paused there deletes the lock of another. The time must also be counted from before SETNX was sent, and on a clock that is never set.',
      '前提是比较与 DEL 之间没有停顿，否则删掉的还是别人的锁。另外，计时要从发送 SETNX 之前开始，并且用不会被调整的时钟。',
    ),
    rightForm: text(
      'Compare and delete in one step (claim 25).',
      '比较和删除一步完成（第 25 条）。',
    ),
    evidence: [
      searched('timestamp-getset-checked', 'no-pause'),
      replayed('timestamp-getset-checked', 'window', 'aa.aaza..bbbbbwaa', 'foreign-release'),
      replayed('timestamp-getset-checked', 'elapsed', 'aaza..waa.bbbbbaaa', 'silent-loss'),
    ],
  },
  {
    number: 52,
    place: text('option 2, step 5', '方案二，步骤 5'),
    claim: text('If it took longer, leave the lock alone.', '已经超时就不要再动锁。'),
    verdict: 'right',
    reason: text(
      'The lock may be another’s by now. The client should also report that it worked without a lock.',
      '锁可能已经是别人的了。此外还应报告：自己有一段时间是在没有锁的情况下工作的。',
    ),
    rightForm: text(
      '`run()` of the library throws LockLostError in this case.',
      '库的 `run()` 在这种情况下抛出 LockLostError。',
    ),
    evidence: [
      searched('timestamp-getset-checked', 'no-pause'),
      tested(
        'src/lock/lock.test.ts',
        'rejects with LockLostError if the lease ended before the callback',
      ),
    ],
  },
  {
    number: 53,
    place: text('option 2, note of 2017', '方案二，2017 年的补记'),
    claim: text('It ran in production without trouble.', '这个方案在线上使用时没有出过问题。'),
    verdict: 'conditional',
    reason: text(
      'Credible: without pauses and with equal clocks no interleaving fails. A pause, or a clock that is wrong, makes several checks fail.',
      '可信：没有停顿、时钟一致时，任何交错都不出错。只要出现停顿或时钟偏差，就有多项检查失败。',
    ),
    rightForm: null,
    evidence: [
      searched('timestamp-getset', 'take-over'),
      searched('timestamp-getset-checked', 'no-pause'),
      replayed('timestamp-getset', 'unchecked-del', 'aa.aza..bbbbbwaa', 'foreign-release'),
    ],
  },
  {
    number: 54,
    place: text('option 2, question 1', '方案二，问题 1'),
    claim: text(
      'Many clients that read the same old time and all send GETSET cannot all get the lock.',
      '多个客户端读到同一个旧时间、都执行 GETSET，不会都拿到锁。',
    ),
    verdict: 'conditional',
    reason: text(
      'If no client of an earlier round is still on its way to its GETSET. Proof: a client sends GETSET only if the old time is smaller than its clock, and writes its clock plus the timeout, so every value that these clients write is larger than the old time. The first GETSET returns the old time and replaces it; each later one returns a larger value. One client sees equality, all others do not. A client that was paused since an earlier round can write the old time back: then two see equality.',
      '前提是没有更早一轮的客户端还停在 GETSET 之前。证明：客户端只有在旧时间小于自己的时钟时才执行 GETSET，写入的是时钟加超时时间，所以这些客户端写入的值都大于旧时间。第一个 GETSET 取回旧时间并替换它；之后的每个 GETSET 取回的都是更大的值。因此只有一个客户端看到相等，其余都看到不等。但早一轮停顿的客户端可能把旧时间又写回去，于是有两个客户端看到相等。',
    ),
    rightForm: text(
      '`SET … NX PX`: the server decides, and a late command changes nothing.',
      '`SET … NX PX`：由服务器裁决，迟到的命令什么也不改。',
    ),
    evidence: [
      dialogue(
        ['SET lockkey 100', 'OK'],
        ['GETSET lockkey 210', '"100"'],
        ['GETSET lockkey 211', '"210"'],
        ['GETSET lockkey 212', '"211"'],
      ),
      searched('timestamp-getset', 'take-over'),
      figure(
        'Six clients, all 720 orders of their GETSETs on the engine: one winner in each.',
        '6 个客户端，GETSET 的 720 种先后顺序逐一在引擎上执行：每种都只有一个胜者。',
      ),
      replayed(
        'timestamp-getset',
        'loser-prolongs',
        'aaxa...bbbbcccczcbxb...ddddeeeedwcce',
        'two-live-leases',
        { clients: 5, crashes: 2 },
      ),
    ],
  },
  {
    number: 55,
    place: text('option 2, question 1', '方案二，问题 1'),
    claim: text(
      'The reason: Redis executes commands one after the other.',
      '理由：Redis 单进程单线程，串行执行命令。',
    ),
    verdict: 'right',
    reason: text(
      'Since Redis 6 other threads may read and write sockets; commands still run one at a time.',
      'Redis 6 起可以用多线程读写 socket，但命令仍逐条执行。',
    ),
    rightForm: null,
    evidence: [
      searched('timestamp-getset', 'take-over'),
      tested(
        'src/engine/commands/transactions.test.ts',
        'queues commands and runs them atomically',
      ),
    ],
  },
  {
    number: 56,
    place: text('option 2, question 2', '方案二，问题 2'),
    claim: text(
      'The GETSETs of the losing clients may keep moving the end of the winner’s lock.',
      '落败者的 GETSET 可能让胜者的锁不断延长。',
    ),
    verdict: 'conditional',
    reason: text(
      'They move it, but not for ever. Only a client that read the old time before the winner’s GETSET can be such a loser, and each sends one GETSET: its next GET finds a time that has not passed. A later GETSET replaces an earlier one, so the end moves by the lateness of the last loser, not by the sum.',
      '会延长，但不会一直延长。只有在胜者 GETSET 之前就读到旧时间的客户端才会这样做，而且每个只做一次：再次 GET 时，读到的时间尚未过期。后一个 GETSET 覆盖前一个，所以总共只延长最后一个落败者迟到的时间，不会累加。',
    ),
    rightForm: text(
      '`SET … NX`: a command that fails changes nothing.',
      '`SET … NX`：失败的命令什么也不改。',
    ),
    evidence: [
      replayed(
        'timestamp-getset',
        'loser-prolongs',
        'aaxa...bbbzbccccc.wbbb',
        'prolonged-by-loser',
      ),
      figure(
        'Five losers, 100, 200, 300, 400 and 500 ms late, moved the end by 500 ms in all. Their next attempts moved it by 0 ms.',
        '5 个落败者分别迟到 100、200、300、400、500 毫秒，到期时间总共推迟 500 毫秒；它们再次尝试时推迟 0 毫秒。',
      ),
      replayed(
        'timestamp-getset-slow',
        'late-losers',
        'aaxa...bb.bcc.cbb.cc',
        'prolonged-by-loser',
      ),
    ],
  },
  {
    number: 57,
    place: text('option 2, question 2', '方案二，问题 2'),
    claim: text('This small error can be ignored.', '这个微小的误差可以忽略。'),
    verdict: 'conditional',
    reason: text(
      'The error is as large as the loser is late. Between two commands of a healthy client a few milliseconds pass at most, and they matter only if the winner crashes later: the others wait for so much longer. A loser that was paused for 8 s makes an error of 8 s, and one that was paused after its computation makes the lock end early (claim 48).',
      '误差等于落败者迟到的时间。正常情况下两条命令只隔几毫秒以内，而且只有胜者随后崩溃时才有影响：其他人多等这么久。但停顿 8 秒的落败者造成 8 秒误差；若停在算出时间之后，锁反而会提前到期（第 48 条）。',
    ),
    rightForm: text('SET … NX PX has no such error.', 'SET … NX PX 没有这种误差。'),
    evidence: [
      figure(
        'A loser that is 2 ms late moves the end by 2 ms; one that was paused for 8 s moves it by 8000 ms.',
        '迟到 2 毫秒的落败者把到期时间推迟 2 毫秒；停顿 8 秒的推迟 8000 毫秒。',
      ),
    ],
  },
];
